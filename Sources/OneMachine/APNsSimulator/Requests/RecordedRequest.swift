internal import Cryptography
internal import HTTP2

/// A request as the journal keeps it: the bytes of its header fields and of its body. Texts and the hash are
/// computed when a reader asks for them, because most requests are never read.
struct RecordedRequest: Sendable {
    struct Header: Sendable, Hashable {
        var name: String
        /// The value. For `authorization`, which is a secret, only the scheme and the claims are kept,
        /// without the signature.
        var value: String
    }

    /// The header fields, in the format of `RequestBatch` and without the signature of the provider token.
    private let fieldBytes: [UInt8]
    /// The body. Consecutive requests with equal bodies share one array.
    private let bodyContent: [UInt8]

    init(_ request: ReceivedRequest, batch: RequestBatch, incoming: IncomingRequest) {
        var fields = ASCIIText.array(from: request.batchBytes.span.extracting(incoming.fields))
        let start = incoming.fields.lowerBound
        if !request.headers.isRepeated {
            if let value = request.headers.authorization {
                Self.eraseSignature(in: value, start: start, bytes: &fields)
            }
        } else {
            // `headers` has the range of one `authorization` only, but each of them contains a secret.
            batch.forEachField(of: incoming) { name, value in
                guard ASCIIText.isEqual(request.batchBytes.span.extracting(name), to: "authorization") else {
                    return
                }
                Self.eraseSignature(in: value, start: start, bytes: &fields)
            }
        }
        self.init(fields: fields, body: request.body)
    }

    init(fields: [UInt8], body: [UInt8]) {
        fieldBytes = fields
        bodyContent = body
    }

    /// Upper bound of its size in memory. Requests that share a body each count it.
    var memoryBytes: Int { fieldBytes.count + bodyContent.count }

    // MARK: For readers

    var method: String { text(of: ":method") }

    /// The path, including the token. The caller must redact it before it is shown.
    var path: String { text(of: ":path") }

    /// The header fields without pseudo-header fields such as `:path`.
    var headers: [Header] {
        var headers: [Header] = []
        for field in fields where field.name.first != UInt8(ascii: ":") {
            let name = String(decoding: field.name, as: UTF8.self)
            let value = String(
                decoding: name == "authorization" ? Self.removingSignature(from: field.value) : field.value,
                as: UTF8.self)
            headers.append(Header(name: name, value: value))
        }
        return headers
    }

    var bodyByteCount: Int { bodyContent.count }

    var body: ArraySlice<UInt8> { bodyContent[...] }

    /// The SHA-256 of the body.
    var bodyHash: [UInt8] { SHA256.digest(of: bodyContent) }

    private var fields: HeaderFields { HeaderFields(bytes: fieldBytes, range: fieldBytes.indices) }

    private func text(of name: StaticString) -> String {
        fields[name].map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    // MARK: Redaction

    private static let dot = UInt8(ascii: ".")

    /// Overwrites the signature of a provider token, which is the part behind the last dot, with zeros.
    /// - Parameters:
    ///   - value: the range of the header's value in the bytes of the batch.
    ///   - bytes: the bytes of the batch from `start` on.
    private static func eraseSignature(in value: Range<Int>, start: Int, bytes: inout [UInt8]) {
        let range = value.lowerBound - start..<value.upperBound - start
        unsafe bytes.withUnsafeMutableBytes { bytes in
            var index = range.upperBound
            while index > range.lowerBound, unsafe bytes[index - 1] != dot {
                index -= 1
                unsafe bytes[index] = 0
            }
        }
    }

    /// Returns the value with "…" in place of the signature.
    private static func removingSignature(from value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let lastDot = value.lastIndex(of: dot) else { return [] }
        return value[...lastDot] + Array("…".utf8)
    }
}
