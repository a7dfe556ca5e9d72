internal import HTTPServer

/// The header that marks a request as a repetition of an earlier one.
enum IdempotencyKey {
    static func value(in headers: HTTPHeaders) throws(RefusedRequest) -> String? {
        let lines = headers.all(named: "idempotency-key")
        guard let key = lines.first else { return nil }
        let isGood =
            lines.count == 1 && (1...GatewayLimits.idempotencyKeyCharactersMax).contains(key.utf8.count)
            && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        if isGood { return key }
        throw RefusedRequest([
            RequestProblem(
                code: "idempotency_key_invalid", at: "Idempotency-Key",
                message:
                    "must be one header of 1 to \(GatewayLimits.idempotencyKeyCharactersMax) visible ASCII characters"
            )
        ])
    }
}
