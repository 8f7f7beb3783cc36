// Adds TLS and a login, which is in KSQLDB_LOGIN as name:password, to clients that have none of their own. It is loaded
// ahead of the program, by node --require. Whom they trust is in NODE_EXTRA_CA_CERTS.

const http = require("node:http");
const http2 = require("node:http2");
const https = require("node:https");

const authorization = `Basic ${Buffer.from(process.env.KSQLDB_LOGIN).toString("base64")}`;
const loggedIn = (options) => ({ ...options, headers: { ...options.headers, authorization } });

http.get = (url, take) => https.get(url, loggedIn({}), take);
http.request = (url, options, take) => https.request(url, loggedIn(options), take);

const { connect } = http2;
http2.connect = (...place) => {
  const session = connect(...place);
  const { request } = session;
  session.request = (headers, ...more) => request.call(session, { ...headers, authorization }, ...more);
  return session;
};
