internal import HTTP2
internal import TLS

extension JournalEntry {
    /// The end is filled in when it is known.
    init(
        _ request: ReceivedRequest, _ facts: RequestFacts, _ batch: RequestBatch, _ incoming: IncomingRequest
    ) {
        let bytes = request.bytes
        var headers: [Header] = []
        batch.eachField(of: incoming) { name, value in
            guard bytes[name.lowerBound] != UInt8(ascii: ":") else { return }
            let name = Text.string(bytes.span.extracting(name))
            let value = Text.string(bytes.span.extracting(value))
            headers.append(
                Header(name: name, value: name == "authorization" ? Self.withoutSignature(value) : value))
        }
        self.init(
            facts: facts, method: Text.string(bytes.span.extracting(request.method)),
            path: Text.string(bytes.span.extracting(request.path)), headers: headers,
            bodyBytes: request.body.count,
            bodyHash: unsafe bytes.withUnsafeBytes {
                unsafe SHA256.digest(UnsafeRawBufferPointer(rebasing: $0[request.body]))
            },
            id: "", end: .silence, isDelivered: false, endedAt: facts.receivedAt)
    }

    private static func withoutSignature(_ value: String) -> String {
        guard let dot = value.lastIndex(of: ".") else { return "" }
        return String(value[...dot]) + "…"
    }
}
