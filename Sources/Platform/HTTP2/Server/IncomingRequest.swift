/// One request that a server session has read to its end or to a limit. Its header fields and its body are in
/// the `RequestBatch`.
package struct IncomingRequest: Sendable {
    package let stream: ServerStreamID
    // Ranges in the bytes of the batch. The method and the path are the values of their fields.
    package let fields: Range<Int>
    package let method: Range<Int>
    package let path: Range<Int>
    package let body: Range<Int>
    /// Whether the header list exceeds `ServerLimits.headerListBytesMax`. The answer should be 431.
    package let areHeadersTruncated: Bool
    /// Whether the body exceeds `ServerLimits.bodyBytesMax`. More bytes may still arrive. The answer should
    /// be 413.
    package let isBodyTruncated: Bool
}

/// The identity of one open stream of a server session, used to answer it. After the end of the stream it has
/// no effect.
package struct ServerStreamID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32
    /// The stream number in HTTP/2.
    package let number: Int32

    /// The index of the stream's slot, below `ServerLimits.streamsMax`. After the end of the stream another
    /// one gets it.
    package var slotIndex: Int { Int(index) }
}

/// The requests that a session has read since its owner has cleared them. The memory is reused, so copy the
/// bytes that you keep.
package struct RequestBatch {
    package private(set) var requests: [IncomingRequest] = []
    /// The header fields (`HeaderFields`) and the body of each request, one after the other.
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
        var lengthsStart = request.fields.lowerBound
        while lengthsStart + HeaderFields.lengthsBytes <= request.fields.upperBound {
            let nameStart = lengthsStart + HeaderFields.lengthsBytes
            let nameEnd = nameStart + HeaderFields.length(in: bytes, at: lengthsStart)
            let valueEnd = nameEnd + HeaderFields.length(in: bytes, at: lengthsStart + 2)
            body(nameStart..<nameEnd, nameEnd..<valueEnd)
            lengthsStart = valueEnd
        }
    }

    mutating func removeAll() {
        requests.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    /// Appends the request in a slot. It takes a pointer, because passing a slot by value would copy it and
    /// count its references.
    mutating func append(_ slot: UnsafeMutablePointer<ServerSlot>) {
        let start = bytes.count
        if unsafe slot.pointee.requestBuffer.count > 0 {
            unsafe bytes.append(contentsOf: slot.pointee.requestBuffer.bytes)
        }
        let bodyStart = unsafe start + slot.pointee.fieldBytes
        let method = unsafe slot.pointee.methodRange
        let path = unsafe slot.pointee.pathRange
        requests.append(
            IncomingRequest(
                stream: unsafe slot.pointee.streamID,
                fields: start..<bodyStart, method: start + method.lowerBound..<start + method.upperBound,
                path: start + path.lowerBound..<start + path.upperBound, body: bodyStart..<bytes.count,
                areHeadersTruncated: unsafe slot.pointee.areHeadersTruncated,
                isBodyTruncated: unsafe slot.pointee.isBodyTruncated))
    }
}
