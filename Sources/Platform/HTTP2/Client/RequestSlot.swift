/// One open request. The wait lists hold pointers to slots, so slots must not move. Each use of a slot has a
/// new generation.
@safe struct RequestSlot {
    let index: Int
    var generation: UInt32 = 0
    var isInUse = false
    /// Stream number, 0 until HEADERS are sent.
    var stream: Int32 = 0
    var tag: UInt64 = 0
    /// Times in nanoseconds on the steady clock: when the request ends without an answer, and after which it
    /// must not be sent.
    var deadline: Int64 = .max
    var sendDeadline: Int64 = .max

    var waitReason = WaitReason.response
    var next: UnsafeMutablePointer<RequestSlot>?
    var previous: UnsafeMutablePointer<RequestSlot>?

    /// The template and body, until the stream closes. HEADERS read the template, and DATA reads the body.
    var shared: Unmanaged<SharedRequest>?
    /// Bytes of the body.
    private(set) var bodyBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    var bodySent = 0
    /// Body bytes that the peer accepts. Negative if the peer has lowered its window.
    var sendWindow = 0

    /// The path and the varying value until the request is sent. After that, the answer so far, fields first.
    var bytes = GrowingBuffer()
    var pathBytes = 0
    var status: UInt16 = 0
    var fieldBytes = 0
    var isBodyTruncated = false
    /// Content length from the answer, if it has one, and the number of body bytes received.
    var contentLength: Int?
    var bodyReceived = 0
    /// Body bytes received since the stream's last WINDOW_UPDATE.
    var receivedSinceUpdate = 0
    /// Whether its outcome was reported. After that, only a late outcome may follow.
    var isReported = false

    init(index: Int) { self.index = index }

    mutating func begin(
        tag: UInt64, sendDeadline: Int64, deadline: Int64, shared: Unmanaged<SharedRequest>, body: SharedBody?
    ) {
        generation &+= 1
        isInUse = true
        self.tag = tag
        self.sendDeadline = sendDeadline
        self.deadline = deadline
        unsafe self.shared = shared
        unsafe bodyBytes = body?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
        bodySent = 0
        isReported = false
        bodyReceived = 0
        receivedSinceUpdate = 0
        beginResponse()
    }

    mutating func storePath(_ path: Span<UInt8>, varying: Span<UInt8>) {
        pathBytes = path.count
        unsafe path.withUnsafeBytes { unsafe bytes.append($0) }
        unsafe varying.withUnsafeBytes { unsafe bytes.append($0) }
    }

    /// Resets the answer. Also called for the final answer after a 1xx.
    mutating func beginResponse() {
        status = 0
        fieldBytes = 0
        isBodyTruncated = false
        contentLength = nil
        bytes.removeAll()
    }

    mutating func clear() {
        isInUse = false
        stream = 0
        unsafe shared = nil
        unsafe bodyBytes = UnsafeRawBufferPointer(start: nil, count: 0)
        bodySent = 0
        bytes.removeAll()
    }

    var isSendingBody: Bool { unsafe bodyBytes.count > bodySent }

    /// Whether its headers and its END_STREAM were written.
    var isFullySent: Bool { stream != 0 && !isSendingBody }
}

/// The identity of one request of one session, for `cancel`. It is stale once the request has ended.
package struct RequestID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32
}
