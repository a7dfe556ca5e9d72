/// One request that a server session has read to its end or to a limit. Its bytes are stored in its batch.
package struct IncomingRequest: Sendable {
    package let stream: ServerStreamID
    /// Ranges of its parts in the bytes of its batch.
    package let fields: Range<Int>
    package let method: Range<Int>
    package let path: Range<Int>
    package let body: Range<Int>
    /// Whether the header list exceeds `headerListBytesMax`. The answer should be 431.
    package let areHeadersTruncated: Bool
    /// Whether the body exceeds `bodyBytesMax`. More bytes may follow. The answer should be 413.
    package let isBodyTruncated: Bool
}

/// The identity of one open stream of a server session, used to answer it. It is stale once the stream has
/// closed.
package struct ServerStreamID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32
    /// The stream number in HTTP/2.
    package let number: Int32

    /// Index of its slot among the session's open streams, below the maximum number of streams. It is reused
    /// after the stream has closed.
    package var slotIndex: Int { Int(index) }
}

/// The requests read since the batch was last emptied. Its memory is reused: copy the values that you keep.
package struct RequestBatch {
    package private(set) var requests: [IncomingRequest] = []
    package private(set) var bytes: [UInt8] = []

    package func method(of request: IncomingRequest) -> ArraySlice<UInt8> { bytes[request.method] }
    package func path(of request: IncomingRequest) -> ArraySlice<UInt8> { bytes[request.path] }
    package func body(of request: IncomingRequest) -> ArraySlice<UInt8> { bytes[request.body] }

    /// Returns all fields, including pseudo fields such as `:path`.
    package func fields(of request: IncomingRequest) -> HeaderFields {
        HeaderFields(bytes: bytes, range: request.fields)
    }

    /// Returns the range in `bytes` of the first value with this name, without touching a reference count.
    package func value(named name: StaticString, of request: IncomingRequest) -> Range<Int>? {
        HeaderFields.find(name, in: bytes, range: request.fields)
    }

    /// Calls `body` with the ranges in `bytes` of each name and value, in order and including pseudo fields.
    /// Touches no reference count.
    package func forEachField(of request: IncomingRequest, body: (Range<Int>, Range<Int>) -> Void) {
        var at = request.fields.lowerBound
        while at + 4 <= request.fields.upperBound {
            let name = at + 4 + HeaderFields.length(in: bytes, at: at)
            let value = name + HeaderFields.length(in: bytes, at: at + 2)
            body(at + 4..<name, name..<value)
            at = value
        }
    }

    mutating func removeAll() {
        requests.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    /// Takes a pointer, because passing a slot by value would copy it and count its references.
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
                stream: unsafe slot.pointee.streamID,
                fields: start..<body, method: start + method.lowerBound..<start + method.upperBound,
                path: start + path.lowerBound..<start + path.upperBound, body: body..<bytes.count,
                areHeadersTruncated: unsafe slot.pointee.areHeadersTruncated,
                isBodyTruncated: unsafe slot.pointee.isBodyTruncated))
    }
}
