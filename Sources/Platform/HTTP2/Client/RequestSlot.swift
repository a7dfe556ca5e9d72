/// The state of one open request. The wait lists link slots by pointers, so slots must not move. Each request
/// in a slot has a new generation, so that a late call with an older `RequestID` does not find it.
@safe struct RequestSlot {
    let index: Int
    var generation: UInt32 = 0
    var isInUse = false
    /// The stream number, 0 until HEADERS are sent.
    var stream: Int32 = 0
    /// The caller's number for the request.
    var tag: UInt64 = 0
    /// The time at which the request ends if it has no answer, in nanoseconds on the steady clock.
    var deadline: Int64 = .max
    /// The time after which the request must not be sent, in nanoseconds on the steady clock.
    var sendDeadline: Int64 = .max
    /// Whether its outcome was reported. After that, only a late outcome may follow.
    var isReported = false

    // The links of the wait list.
    var waitReason = WaitReason.response
    var next: UnsafeMutablePointer<RequestSlot>?
    var previous: UnsafeMutablePointer<RequestSlot>?

    // The request.
    /// The template and the body, retained by the session until the slot is released.
    var sharedRequest: Unmanaged<SharedRequest>?
    /// The body to send.
    private(set) var requestBody = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The bytes of the body that were pulled.
    var sentBodyBytes = 0
    /// The body bytes that the peer accepts now on this stream. Negative if the peer has lowered its window. It has no
    /// meaning until HEADERS are sent.
    var sendWindow = 0

    /// Until HEADERS are sent: the path, then the varying value of the request. After that: the header
    /// fields, then the body of the answer so far.
    var buffer = GrowingBuffer()
    /// The length of the path in the buffer.
    var pathBytes = 0

    // The answer.
    /// The status of the answer, 0 before it.
    var status: UInt16 = 0
    /// The length of the header fields in the buffer.
    var fieldBytes = 0
    var isBodyTruncated = false
    /// The answer's `content-length`, if it has one.
    var contentLength: Int?
    /// The number of received body bytes, kept or not.
    var receivedBodyBytes = 0
    /// The number of bytes received since the stream's last WINDOW_UPDATE.
    var receivedBytesSinceUpdate = 0

    init(index: Int) { self.index = index }

    /// Begins a use of the slot for a request.
    mutating func begin(
        tag: UInt64, sendDeadline: Int64, deadline: Int64, shared: Unmanaged<SharedRequest>, body: SharedBody?
    ) {
        generation &+= 1
        isInUse = true
        self.tag = tag
        self.sendDeadline = sendDeadline
        self.deadline = deadline
        unsafe self.sharedRequest = shared
        unsafe requestBody = body?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
        sentBodyBytes = 0
        isReported = false
        receivedBodyBytes = 0
        receivedBytesSinceUpdate = 0
        beginResponse()
    }

    /// Copies the path and the varying value until HEADERS are sent.
    mutating func storePath(_ path: Span<UInt8>, varying: Span<UInt8>) {
        pathBytes = path.count
        unsafe path.withUnsafeBytes { unsafe buffer.append($0) }
        unsafe varying.withUnsafeBytes { unsafe buffer.append($0) }
    }

    /// Empties the answer. Called when HEADERS are sent, and before each header block of an answer, because a
    /// final answer may follow an informational one (1xx).
    mutating func beginResponse() {
        status = 0
        fieldBytes = 0
        isBodyTruncated = false
        contentLength = nil
        buffer.removeAll()
    }

    /// Ends the use of the slot.
    mutating func clear() {
        isInUse = false
        stream = 0
        unsafe sharedRequest = nil
        unsafe requestBody = UnsafeRawBufferPointer(start: nil, count: 0)
        sentBodyBytes = 0
        buffer.removeAll()
    }

    /// Whether a part of the body was not written.
    var isSendingBody: Bool { unsafe requestBody.count > sentBodyBytes }

    /// Whether its headers and its END_STREAM were written.
    var isFullySent: Bool { stream != 0 && !isSendingBody }
}

/// The identity of one request of a session, for `cancel` and `withdraw`. After the end of the request it has
/// no effect.
package struct RequestID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32
}
