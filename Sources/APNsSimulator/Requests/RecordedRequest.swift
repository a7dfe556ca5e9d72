internal import Cryptography
internal import HTTP2

/// A request as it came, in two pieces of memory. What readers want of it, texts and a hash, is made when
/// they ask, because of most requests nobody asks anything.
struct RecordedRequest: Sendable {
    struct Header: Sendable, Hashable {
        var name: String
        /// `authorization` is a secret: its scheme and the claims it carries are kept, the signature is not.
        var value: String
    }

    /// The header fields as a batch lays them out.
    private let fieldBytes: [UInt8]
    /// What many requests of one send have in common is one array.
    private let content: [UInt8]

    init(_ request: ReceivedRequest, batch: RequestBatch, incoming: IncomingRequest) {
        var fields = Text.array(request.bytes.span.extracting(incoming.fields))
        let start = incoming.fields.lowerBound
        if !request.headers.isRepeated {
            if let value = request.headers.authorization { Self.forgetSignature(in: value, start, &fields) }
        } else {
            batch.eachField(of: incoming) { name, value in
                guard Text.equal(request.bytes.span.extracting(name), "authorization") else { return }
                Self.forgetSignature(in: value, start, &fields)
            }
        }
        self.init(fields: fields, body: request.body)
    }

    init(fields: [UInt8], body: [UInt8]) {
        fieldBytes = fields
        content = body
    }

    /// What it takes in memory, at most.
    var bytesKept: Int { fieldBytes.count + content.count }

    // MARK: For readers

    var method: String { text(of: ":method") }

    /// With the token, if there is one: what a person may see of it is the reader's business.
    var path: String { text(of: ":path") }

    /// Without the pseudo fields.
    var headers: [Header] {
        var headers: [Header] = []
        for field in fields where field.name.first != UInt8(ascii: ":") {
            let name = String(decoding: field.name, as: UTF8.self)
            let value = String(
                decoding: name == "authorization" ? Self.withoutSignature(field.value) : field.value,
                as: UTF8.self)
            headers.append(Header(name: name, value: value))
        }
        return headers
    }

    var bodyBytes: Int { content.count }

    var body: ArraySlice<UInt8> { content[...] }

    /// SHA-256.
    var bodyHash: [UInt8] { SHA256.digest(content) }

    private var fields: HeaderFields { HeaderFields(bytes: fieldBytes, range: fieldBytes.indices) }

    private func text(of name: StaticString) -> String {
        fields[name].map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    // MARK: The secret

    private static let dot = UInt8(ascii: ".")

    /// - Parameter value: a range of the batch's bytes, of which `bytes` are those from `start` on.
    private static func forgetSignature(in value: Range<Int>, _ start: Int, _ bytes: inout [UInt8]) {
        let value = value.lowerBound - start..<value.upperBound - start
        unsafe bytes.withUnsafeMutableBytes { bytes in
            var index = value.upperBound
            while index > value.lowerBound, unsafe bytes[index - 1] != dot {
                index -= 1
                unsafe bytes[index] = 0
            }
        }
    }

    private static func withoutSignature(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let last = value.lastIndex(of: dot) else { return [] }
        return value[...last] + Array("…".utf8)
    }
}
