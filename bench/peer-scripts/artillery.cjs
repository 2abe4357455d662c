// Ends the loops of Artillery's users, which know counts but no durations.
const until = Date.now() + Number(process.env.SECONDS) * 1000;
module.exports = { more: (context, done) => done(Date.now() < until) };
