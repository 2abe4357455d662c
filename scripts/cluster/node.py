"""A node: takes the pods that the scheduler gives it, and runs their containers as processes of this machine.

It does of a kubelet what the chart needs: volumes of ConfigMaps, Secrets, claims and empty folders; variables and their
references; init containers, sidecars, restarts; readiness by HTTP; termination with grace. A pod's address is one of
the loopback interface, and names of Services are in each container's /etc/hosts.
"""

import base64
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

from api import Refused

LOOK_S = 0.3
LEASE_S = 10
FILES_MAX = 65_536
SANDBOX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sandbox.py")


def now():
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def expanded(text, variables):
    """With $(NAME) replaced; a name that is not known stays as it is."""
    return re.sub(r"\$\((\w+)\)", lambda match: variables.get(match[1], match[0]), text)


class Node:
    """A node of the cluster. `images`: the program of each image, by the beginning of its name."""

    def __init__(self, api, name, number, folder, images, names):
        self.api, self.name, self.number, self.folder, self.images = api, name, number, folder, images
        self.names = names
        self.pods = {}
        self.stopped = threading.Event()

    def register(self):
        size = {"cpu": "16", "memory": "64Gi", "pods": "32"}
        ready = {
            "type": "Ready", "status": "True", "reason": "Started", "message": "",
            "lastHeartbeatTime": now(), "lastTransitionTime": now(),
        }
        labels = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}
        self.api.create("/api/v1/nodes", {"metadata": {"name": self.name, "labels": labels}})
        self.api.patch_status(f"/api/v1/nodes/{self.name}", {
            "capacity": size, "allocatable": size, "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": f"10.244.{self.number}.1"}],
        })

    def serve(self):
        """Until `stop`."""
        renewed = 0.0
        while not self.stopped.wait(LOOK_S):
            try:
                if time.monotonic() - renewed > LEASE_S:
                    renewed = time.monotonic()
                    self.renew()
                listed = self.api.get(f"/api/v1/pods?fieldSelector=spec.nodeName={self.name}")
            except (OSError, Refused) as error:
                print(f"{self.name}: {error}", file=sys.stderr)
                continue
            for pod in listed["items"]:
                self.look_at(pod)

    def renew(self):
        lease = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{self.name}"
        time_ = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 4 * LEASE_S, "renewTime": time_}
        try:
            self.api.patch(lease, {"spec": spec})
        except Refused as error:
            if error.code != 404:
                raise
            body = {"metadata": {"name": self.name}, "spec": spec}
            self.api.create(os.path.dirname(lease), body)

    def look_at(self, pod):
        uid = pod["metadata"]["uid"]
        running = self.pods.get(uid)
        if running is None and pod["status"].get("phase") == "Pending":
            address = f"10.244.{self.number}.{10 + len(self.pods)}"
            running = self.pods[uid] = Pod(self, pod, address)
            running.thread.start()
        if running and "deletionTimestamp" in pod["metadata"]:
            running.end(pod["metadata"].get("deletionGracePeriodSeconds", 30))

    def stop(self):
        self.stopped.set()
        for pod in self.pods.values():
            pod.end(1)
        for pod in self.pods.values():
            pod.thread.join()


class Container:
    """One container of a pod, as a process; again if it is to be restarted."""

    def __init__(self, pod, spec, environment):
        self.pod, self.spec, self.name = pod, spec, spec["name"]
        self.environment = environment
        self.process, self.code, self.restarts, self.ready = None, None, 0, False
        self.started = None

    def start(self):
        pod, spec = self.pod, self.spec
        image = spec["image"]
        program = next((path for name, path in pod.node.images.items() if image.startswith(name)), None)
        if program is None:
            raise LookupError(f"image {image} is not on this node")
        mounts = [
            (pod.volumes[mount["name"]], mount["mountPath"], mount.get("readOnly", False))
            for mount in spec.get("volumeMounts", [])
        ]
        root = pod.path(self.name, "root")
        os.makedirs(root, exist_ok=True)
        security = {**pod.spec.get("securityContext", {}), **spec.get("securityContext", {})}
        specification = pod.path(self.name, "container.json")
        with open(specification, "w") as file:
            json.dump({
                "root": root, "program": program, "args": [expanded(word, self.environment) for word in spec.get("args", [])],
                "env": {"PATH": "/usr/bin", "HOME": "/tmp", "HOSTNAME": pod.name, **self.environment},
                "folder": spec.get("workingDir", "/"), "user": security["runAsUser"], "mounts": mounts,
                "hosts": pod.node.names.path, "files_max": FILES_MAX,
            }, file)
        with open(pod.path(self.name, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, SANDBOX, specification],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )
        self.started, self.code, self.ready = now(), None, "readinessProbe" not in spec

    def look(self):
        """Whether something changed."""
        if self.process is None:
            return False
        code = self.process.poll()
        if code is not None:
            # As a shell counts signals.
            self.process, self.code, self.ready = None, code if code >= 0 else 128 - code, False
            return True
        if not self.ready and self.answers():
            self.ready = True
            return True
        return False

    def answers(self):
        probe = self.spec["readinessProbe"]["httpGet"]
        port = next(port["containerPort"] for port in self.spec["ports"] if port["name"] == probe["port"])
        try:
            url = f"http://{self.pod.address}:{port}{probe['path']}"
            with urllib.request.urlopen(url, timeout=1) as response:
                return response.status < 400
        except OSError:
            return False

    def signal(self, which):
        if self.process is not None:
            try:
                os.killpg(self.process.pid, which)
            except ProcessLookupError:
                pass

    def status(self):
        if self.process is not None:
            state = {"running": {"startedAt": self.started}}
        elif self.code is not None:
            reason = "Completed" if self.code == 0 else "Error"
            state = {"terminated": {
                "exitCode": self.code, "reason": reason, "startedAt": self.started, "finishedAt": now(),
            }}
        else:
            state = {"waiting": {"reason": "PodInitializing"}}
        return {
            "name": self.name, "image": self.spec["image"], "imageID": self.spec["image"], "ready": self.ready,
            "restartCount": self.restarts, "started": self.process is not None, "state": state,
        }


class Pod:
    def __init__(self, node, pod, address):
        self.node, self.object, self.address = node, pod, address
        self.meta, self.spec = pod["metadata"], pod["spec"]
        self.name, self.namespace = self.meta["name"], self.meta["namespace"]
        self.url = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
        self.volumes = {}
        self.inits, self.mains = [], []
        self.grace_s = None
        self.thread = threading.Thread(target=self.live, name=self.name)

    def path(self, *parts):
        path = os.path.join(self.node.folder, self.meta["uid"], *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def end(self, grace_s):
        if self.grace_s is None or grace_s < self.grace_s:
            self.grace_s = grace_s

    def live(self):
        try:
            self.prepare()
            phase = self.run()
        except (LookupError, OSError, Refused) as error:
            print(f"{self.name}: {error}", file=sys.stderr)
            phase = "Failed"
        try:
            self.report(phase)
            if self.grace_s is not None:
                self.node.api.delete(self.url, gracePeriodSeconds=0)
        except (OSError, Refused) as error:
            if getattr(error, "code", None) != 404 and not self.node.stopped.is_set():
                print(f"{self.name}: {error}", file=sys.stderr)

    def prepare(self):
        for volume in self.spec.get("volumes", []):
            self.volumes[volume["name"]] = self.volume(volume)
        make = lambda spec: Container(self, spec, self.environment(spec))
        self.inits = [make(spec) for spec in self.spec.get("initContainers", [])]
        self.mains = [make(spec) for spec in self.spec["containers"]]

    def in_namespace(self, kind, name):
        return self.node.api.get(f"/api/v1/namespaces/{self.namespace}/{kind}/{name}")

    def volume(self, volume):
        folder = self.path("volumes", volume["name"])
        if "persistentVolumeClaim" in volume:
            claim = self.in_namespace("persistentvolumeclaims", volume["persistentVolumeClaim"]["claimName"])
            disk = self.node.api.get("/api/v1/persistentvolumes/" + claim["spec"]["volumeName"])
            folder = disk["spec"]["hostPath"]["path"]
        elif "configMap" not in volume and "emptyDir" not in volume:
            raise LookupError(f"volume {volume['name']} is of a kind that this node does not know")
        os.makedirs(folder, exist_ok=True)
        if "configMap" in volume:
            for name, text in self.in_namespace("configmaps", volume["configMap"]["name"])["data"].items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
        # fsGroup, in effect.
        os.chmod(folder, 0o777)
        return folder

    def environment(self, spec):
        known = {}
        for source in spec.get("envFrom", []):
            known.update(self.secret(source["secretRef"]["name"]))
        for variable in spec.get("env", []):
            known[variable["name"]] = self.value(variable, known)
        return known

    def secret(self, name):
        data = self.in_namespace("secrets", name).get("data", {})
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def value(self, variable, known):
        if "valueFrom" not in variable:
            return expanded(variable.get("value", ""), known)
        source = variable["valueFrom"]
        if "secretKeyRef" in source:
            return self.secret(source["secretKeyRef"]["name"])[source["secretKeyRef"]["key"]]
        path = source["fieldRef"]["fieldPath"]
        keyed = re.fullmatch(r"metadata\.(annotations|labels)\['(.*)'\]", path)
        if keyed:
            return self.meta[keyed[1]][keyed[2]]
        return {"metadata.name": self.name, "metadata.namespace": self.namespace, "status.podIP": self.address}[path]

    def run(self):
        """Starts one container after another and watches them. Returns the phase at the end."""
        sidecars = []
        for init in self.inits:
            init.start()
            self.report("Pending")
            if init.spec.get("restartPolicy") == "Always":
                sidecars.append(init)
                continue
            while init.process is not None:
                init.look()
                if self.is_to_end([init, *sidecars]):
                    return "Failed"
                time.sleep(0.05)
            if init.code != 0:
                self.finish(sidecars)
                return "Failed"
        for main in self.mains:
            main.start()
        self.report("Running")
        while any(main.process is not None for main in self.mains):
            changed = [container.look() for container in [*self.mains, *sidecars]]
            if self.is_to_end([*self.mains, *sidecars]):
                break
            for main in self.mains:
                if main.process is None and self.spec["restartPolicy"] == "Always":
                    main.restarts += 1
                    main.start()
            if any(changed):
                self.report("Running")
            time.sleep(0.05)
        self.finish(sidecars)
        return "Succeeded" if all(main.code == 0 for main in self.mains) else "Failed"

    def is_to_end(self, containers):
        if self.grace_s is None:
            return False
        self.finish(containers)
        return True

    def finish(self, containers):
        """SIGTERM, and SIGKILL to what is there after the grace."""
        grace_s = self.grace_s if self.grace_s is not None else self.spec.get("terminationGracePeriodSeconds", 30)
        for container in containers:
            container.signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while any(container.process is not None for container in containers):
            if time.monotonic() > deadline:
                for container in containers:
                    container.signal(signal.SIGKILL)
            for container in containers:
                container.look()
            time.sleep(0.05)

    def report(self, phase):
        is_ready = bool(self.mains) and all(main.ready for main in self.mains)
        if is_ready or phase != "Running":
            self.node.names.set(self.meta["labels"], self.address if is_ready else None)
        condition = lambda kind, is_so: {
            "type": kind, "status": "True" if is_so else "False", "lastTransitionTime": now(),
        }
        ready = [condition("Ready", is_ready), condition("ContainersReady", is_ready)]
        initialized = condition("Initialized", phase != "Pending")
        status = {
            "phase": phase, "podIP": self.address, "podIPs": [{"ip": self.address}],
            "hostIP": f"10.244.{self.node.number}.1", "startTime": self.object["status"].get("startTime", now()),
            "conditions": [condition("PodScheduled", True), initialized, *ready],
            "initContainerStatuses": [container.status() for container in self.inits],
            "containerStatuses": [container.status() for container in self.mains],
        }
        self.node.api.patch_status(self.url, status)


class Names:
    """The file that is each container's /etc/hosts: names of Services, with the address of a pod that is ready."""

    def __init__(self, api, path):
        self.api, self.path, self.lock = api, path, threading.Lock()
        self.addresses = {}
        self.write()

    def set(self, labels, address):
        services = self.api.get("/api/v1/services")["items"]
        with self.lock:
            for service in services:
                selector = service["spec"].get("selector")
                if selector and selector.items() <= labels.items():
                    self.addresses[service["metadata"]["name"]] = address
            self.write()

    def write(self):
        lines = [f"{address} {name}\n" for name, address in self.addresses.items() if address]
        # In place: containers have this very file.
        with open(self.path, "w") as file:
            file.write("127.0.0.1 localhost\n" + "".join(lines))
