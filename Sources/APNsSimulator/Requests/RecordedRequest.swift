internal import Cryptography
internal import HTTP2

/// A request as it came, in one piece of memory. What readers want of it, texts and a hash, is made when
/// they ask, because of most requests nobody asks anything.
struct RecordedRequest: Sendable {
    struct Header: Sendable, Hashable {
        var name: String
        /// `authorization` is a secret: its scheme and the claims it carries are kept, the signature is not.
        var value: String
    }

    /// The header fields as a batch lays them out, then the body.
    private let bytes: [UInt8]
    private let fieldBytes: Int

    init(_ request: ReceivedRequest, batch: RequestBatch, incoming: IncomingRequest) {
        let ranges = batch.ranges(of: incoming)
        var bytes = Array(request.bytes[ranges.fields.lowerBound..<ranges.body.upperBound])
        let start = ranges.fields.lowerBound
        if !request.headers.isRepeated {
            if let value = request.headers.authorization { Self.forgetSignature(in: value, start, &bytes) }
        } else {
            batch.eachField(of: incoming) { name, value in
                guard Text.equal(request.bytes.span.extracting(name), "authorization") else { return }
                Self.forgetSignature(in: value, start, &bytes)
            }
        }
        self.init(bytes: bytes, fieldBytes: ranges.fields.count)
    }

    init(bytes: [UInt8], fieldBytes: Int) {
        precondition(fieldBytes <= bytes.count, "fields are a part of the bytes")
        self.bytes = bytes
        self.fieldBytes = fieldBytes
    }

    /// What it takes in memory.
    var bytesKept: Int { bytes.count }

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

    var bodyBytes: Int { bytes.count - fieldBytes }

    var body: ArraySlice<UInt8> { bytes[fieldBytes...] }

    /// SHA-256.
    var bodyHash: [UInt8] {
        unsafe bytes.withUnsafeBytes {
            unsafe SHA256.digest(UnsafeRawBufferPointer(rebasing: $0[fieldBytes...]))
        }
    }

    private var fields: HeaderFields { HeaderFields(bytes: bytes, range: 0..<fieldBytes) }

    private func text(of name: StaticString) -> String {
        fields[name].map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    // MARK: The secret

    private static let dot = UInt8(ascii: ".")

    /// - Parameter value: a range of the batch's bytes, of which `bytes` are those from `start` on.
    private static func forgetSignature(in value: Range<Int>, _ start: Int, _ bytes: inout [UInt8]) {
        let value = value.lowerBound - start..<value.upperBound - start
        let kept = bytes[value].lastIndex(of: dot).map { $0 + 1 } ?? value.lowerBound
        for index in kept..<value.upperBound { bytes[index] = 0 }
    }

    private static func withoutSignature(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let last = value.lastIndex(of: dot) else { return [] }
        return value[...last] + Array("…".utf8)
    }
}
