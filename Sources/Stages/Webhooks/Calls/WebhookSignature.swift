internal import Cryptography

/// The signature of the Standard Webhooks specification: an HMAC-SHA256 over the id, the time and the body.
enum WebhookSignature {
    /// Returns the value of the header `webhook-signature`: one signature for each key, separated by spaces.
    ///
    /// - Parameter seconds: The value of the header `webhook-timestamp`, seconds since 1970.
    static func header(id: String, seconds: Int64, body: [UInt8], keys: [SecretBytes]) -> String {
        let content = Array("\(id).\(seconds).".utf8) + body
        return keys.map { key in
            "v1," + Base64URL.standardText(of: HMACSHA256(key: key).authenticationCode(for: content))
        }.joined(separator: " ")
    }
}
