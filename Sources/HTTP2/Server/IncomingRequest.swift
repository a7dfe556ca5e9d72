/// One request that a server session read to its end (or to a limit). A plain value; its bytes lie
/// in the batch it came with.
package struct IncomingRequest: Sendable {
    package let stream: ServerStream
    /// Where its parts lie in the bytes of its batch.
    package let fields: Range<Int>
    package let method: Range<Int>
    package let path: Range<Int>
    package let body: Range<Int>
    /// The header list is above `headerListBytesMax`: 431 is the answer.
    package let headersAreCut: Bool
    /// The body is above `bodyBytesMax`, and there may be more to come: 413 is the answer.
    package let bodyIsCut: Bool
}

/// Names one open stream of one server session, for its answer. Stale once the stream has closed.
package struct ServerStream: Hashable, Sendable {
    let index: Int32
    let generation: UInt32
    /// The number on the wire.
    package let number: Int32

    /// Its slot among the session's open streams, below the most that it allows. Used again once the
    /// stream has closed.
    package var slot: Int { Int(index) }
}

/// The requests read since the batch was last emptied. Its memory is used again: copy what is to be kept.
package struct RequestBatch {
    package private(set) var requests: [IncomingRequest] = []
    package private(set) var bytes: [UInt8] = []

    package func method(of request: IncomingRequest) -> ArraySlice<UInt8> { bytes[request.method] }
    package func path(of request: IncomingRequest) -> ArraySlice<UInt8> { bytes[request.path] }
    package func body(of request: IncomingRequest) -> ArraySlice<UInt8> { bytes[request.body] }

    /// All fields, the pseudo fields (`:path`) among them.
    package func fields(of request: IncomingRequest) -> HeaderFields {
        HeaderFields(bytes: bytes, range: request.fields)
    }

    /// Where the first value under a name lies in `bytes`; touches no reference count.
    package func value(_ name: StaticString, of request: IncomingRequest) -> Range<Int>? {
        HeaderFields.find(name, in: bytes, request.fields)
    }

    /// Calls with the places in `bytes` of each name and value, the pseudo fields' among them, in order;
    /// touches no reference count.
    package func eachField(of request: IncomingRequest, _ body: (Range<Int>, Range<Int>) -> Void) {
        var at = request.fields.lowerBound
        while at + 4 <= request.fields.upperBound {
            let name = at + 4 + HeaderFields.length(bytes, at)
            let value = name + HeaderFields.length(bytes, at + 2)
            body(at + 4..<name, name..<value)
            at = value
        }
    }

    mutating func removeAll() {
        requests.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    /// By pointer: a slot passed by value would be copied, and its references counted.
    mutating func append(_ slot: UnsafeMutablePointer<ServerSlot>) {
        let start = bytes.count
        if unsafe slot.pointee.request.count > 0 {
            unsafe bytes.append(contentsOf: slot.pointee.request.bytes)
        }
        let body = unsafe start + slot.pointee.fieldBytes
        let method = unsafe slot.pointee.method
        let path = unsafe slot.pointee.path
        requests.append(
            IncomingRequest(
                stream: unsafe slot.pointee.name,
                fields: start..<body, method: start + method.lowerBound..<start + method.upperBound,
                path: start + path.lowerBound..<start + path.upperBound, body: body..<bytes.count,
                headersAreCut: unsafe slot.pointee.headersAreCut, bodyIsCut: unsafe slot.pointee.bodyIsCut))
    }
}
