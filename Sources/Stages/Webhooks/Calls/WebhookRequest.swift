internal import CatalogRecords
internal import Cryptography
internal import Lifecycle

/// One signed call of an endpoint.
struct WebhookRequest: Sendable {
    let url: WebhookURL
    /// The head and the body, as sent.
    let bytes: [UInt8]

    /// - Parameters:
    ///   - id: The value of the header `webhook-id`.
    ///   - seconds: The time of the call in seconds since 1970.
    ///   - keys: The keys that sign, at least one.
    init(to url: WebhookURL, id: String, body: [UInt8], keys: [SecretBytes], seconds: Int64) {
        self.url = url
        let signature = WebhookSignature.header(id: id, seconds: seconds, body: body, keys: keys)
        let head = """
            POST \(url.path) HTTP/1.1\r
            Host: \(url.authority)\r
            User-Agent: Flotilla-Webhooks\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            webhook-id: \(id)\r
            webhook-timestamp: \(seconds)\r
            webhook-signature: \(signature)\r
            \r

            """
        bytes = Array(head.utf8) + body
    }
}
