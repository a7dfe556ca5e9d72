internal import HTTPServer
internal import JSON
internal import Sends

// The reader of the header `Idempotency-Key`. `SendID` derives the id of a send from the key. The planner and the
// scheduler decide whether a request repeats an earlier one (`Idempotency.compare`).

extension Idempotency {
    /// The visible ASCII characters.
    private static let allowedBytes: ClosedRange<UInt8> = 0x21...0x7E

    /// Reads the key of a request, and makes the fingerprint of its body. Returns nil if the request has no key.
    init?(headers: HTTPHeaders, body: JSONValue) throws(RefusedRequest) {
        guard let key = try Self.key(in: headers) else { return nil }
        self.init(key: key, fingerprint: BodyDigest.text(of: body))
    }

    /// Returns the key, or throws if it is not one header of visible ASCII characters.
    private static func key(in headers: HTTPHeaders) throws(RefusedRequest) -> String? {
        let values = headers.all(named: "idempotency-key")
        guard let key = values.first else { return nil }
        let hasValidLength = (1...GatewayLimits.idempotencyKeyCharactersMax).contains(key.utf8.count)
        let isVisible = key.utf8.allSatisfy { allowedBytes.contains($0) }
        if values.count == 1, hasValidLength, isVisible { return key }
        throw RefusedRequest([
            RequestProblem(
                code: "idempotency_key_invalid", at: "Idempotency-Key",
                message:
                    "must be one header of 1 to \(GatewayLimits.idempotencyKeyCharactersMax) visible ASCII characters"
            )
        ])
    }
}
