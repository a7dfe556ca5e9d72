internal import Cryptography
internal import HTTP2

/// A request as received, in two arrays. Texts and a hash are computed on demand, because most requests are
/// never read.
struct RecordedRequest: Sendable {
    struct Header: Sendable, Hashable {
        var name: String
        /// The value. For `authorization`, which is a secret, only the scheme and the claims are kept,
        /// without the signature.
        var value: String
    }

    /// The header fields in the layout of a batch.
    private let fieldBytes: [UInt8]
    /// The body. Requests of one send share one array.
    private let bodyContent: [UInt8]

    init(_ request: ReceivedRequest, batch: RequestBatch, incoming: IncomingRequest) {
        var fields = ASCIIText.array(from: request.bytes.span.extracting(incoming.fields))
        let start = incoming.fields.lowerBound
        if !request.headers.isRepeated {
            if let value = request.headers.authorization {
                Self.eraseSignature(in: value, start: start, bytes: &fields)
            }
        } else {
            batch.forEachField(of: incoming) { name, value in
                guard ASCIIText.isEqual(request.bytes.span.extracting(name), to: "authorization") else {
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

    /// Upper bound of its size in memory.
    var memoryBytes: Int { fieldBytes.count + bodyContent.count }

    // MARK: For readers

    var method: String { text(of: ":method") }

    /// The path, including the token. The reader must redact it before it is shown.
    var path: String { text(of: ":path") }

    /// The header fields without pseudo fields.
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

    var bodyBytes: Int { bodyContent.count }

    var body: ArraySlice<UInt8> { bodyContent[...] }

    /// SHA-256.
    var bodyHash: [UInt8] { SHA256.digest(of: bodyContent) }

    private var fields: HeaderFields { HeaderFields(bytes: fieldBytes, range: fieldBytes.indices) }

    private func text(of name: StaticString) -> String {
        fields[name].map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    // MARK: Redaction

    private static let dot = UInt8(ascii: ".")

    /// - Parameter value: a range of the batch's bytes. `bytes` are the batch's bytes from `start`.
    private static func eraseSignature(in value: Range<Int>, start: Int, bytes: inout [UInt8]) {
        let value = value.lowerBound - start..<value.upperBound - start
        unsafe bytes.withUnsafeMutableBytes { bytes in
            var index = value.upperBound
            while index > value.lowerBound, unsafe bytes[index - 1] != dot {
                index -= 1
                unsafe bytes[index] = 0
            }
        }
    }

    private static func removingSignature(from value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let last = value.lastIndex(of: dot) else { return [] }
        return value[...last] + Array("…".utf8)
    }
}
