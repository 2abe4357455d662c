{{/* The prefix of all names: a DNS label. */}}
{{- define "throng.name" -}}
{{- .Release.Name | replace "." "-" | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "throng.selector" -}}
app.kubernetes.io/name: throng
app.kubernetes.io/instance: {{ include "throng.name" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "throng.labels" -}}
{{ include "throng.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{- define "throng.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* No privilege: what the profile `restricted` of Pod Security demands. */}}
{{- define "throng.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "throng.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* The Secret with the URL of NATS, and its key. */}}
{{- define "throng.natsSecret" -}}
{{- .Values.nats.urlSecret.name | default (printf "%s-nats" (include "throng.name" .)) -}}
{{- end -}}
{{- define "throng.ownNats" -}}
{{- if not (or .Values.nats.url .Values.nats.urlSecret.name) -}}yes{{- end -}}
{{- end -}}

{{- define "throng.natsEnv" -}}
- name: NATS_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "throng.natsSecret" . }}
      key: {{ ternary .Values.nats.urlSecret.key "url" (ne .Values.nats.urlSecret.name "") }}
{{- end -}}

{{/* A container that ends when NATS answers and this number of agents is free. */}}
{{- define "throng.wait" -}}
- name: wait
  image: {{ include "throng.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: [fleet, wait, --nats, $(NATS_URL), --agents, {{ .agents | quote }}, --within, {{ .root.Values.run.wait | quote }}]
  env:
    {{- include "throng.natsEnv" .root | nindent 4 }}
  resources:
    requests: { cpu: 50m, memory: 64Mi }
    limits: { memory: 128Mi }
  securityContext:
    {{- include "throng.containerSecurity" . | nindent 4 }}
{{- end -}}

{{/* What all pods share. */}}
{{- define "throng.pod" -}}
serviceAccountName: {{ include "throng.name" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
