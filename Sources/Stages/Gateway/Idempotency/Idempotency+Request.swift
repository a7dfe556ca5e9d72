internal import HTTPServer
internal import JSON
internal import Sends

// `Idempotency` has the rule for repetitions, and `SendID` derives the id of a send from the key.

extension Idempotency {
    /// Reads the header `Idempotency-Key` of a request with this body. Returns nil if the request has none.
    init?(headers: HTTPHeaders, body: JSONValue) throws(RefusedRequest) {
        guard let key = try Self.key(in: headers) else { return nil }
        self.init(key: key, fingerprint: BodyDigest.text(of: body))
    }

    /// Returns the key, or throws if it is not one header of visible ASCII characters.
    private static func key(in headers: HTTPHeaders) throws(RefusedRequest) -> String? {
        let values = headers.all(named: "idempotency-key")
        guard let key = values.first else { return nil }
        let isValid =
            values.count == 1 && (1...GatewayLimits.idempotencyKeyCharactersMax).contains(key.utf8.count)
            && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        if isValid { return key }
        throw RefusedRequest([
            RequestProblem(
                code: "idempotency_key_invalid", at: "Idempotency-Key",
                message:
                    "must be one header of 1 to \(GatewayLimits.idempotencyKeyCharactersMax) visible ASCII characters"
            )
        ])
    }
}
