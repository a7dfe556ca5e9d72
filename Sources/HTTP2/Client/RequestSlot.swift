/// One open request. Lists of what requests wait for point at slots, so they must not move; a new generation
/// begins whenever the slot is taken again.
@safe struct RequestSlot {
    let index: Int
    var generation: UInt32 = 0
    var isTaken = false
    /// 0 until HEADERS leave.
    var stream: Int32 = 0
    var tag: UInt64 = 0
    /// Nanoseconds on the steady clock: when it ends without an answer, and after which it must not leave.
    var deadline: Int64 = .max
    var leaveBy: Int64 = .max

    var wait = RequestWait.answer
    var next: UnsafeMutablePointer<RequestSlot>?
    var previous: UnsafeMutablePointer<RequestSlot>?

    /// Until the stream closes: the template is read when HEADERS leave, the body when DATA does.
    var shared: Unmanaged<SharedRequest>?
    /// The body's.
    private(set) var bodyBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    var bodySent = 0
    /// Bytes of its body that the peer takes, below 0 when it has taken room back.
    var sendWindow = 0

    /// Until the request leaves, its path and its varying value; then the answer so far, fields first.
    var bytes = ByteStore()
    var pathBytes = 0
    var status: UInt16 = 0
    var fieldBytes = 0
    var bodyIsCut = false
    /// What the answer says of its body's length, if it does, and how much came.
    var contentLength: Int?
    var bodyReceived = 0
    /// Bytes of the answer's body since the peer was last given room.
    var windowUsed = 0
    /// Its one outcome has been given already; only a late answer may follow.
    var isReported = false

    init(index: Int) { self.index = index }

    mutating func begin(
        tag: UInt64, leaveBy: Int64, deadline: Int64, _ shared: Unmanaged<SharedRequest>, body: SharedBody?
    ) {
        generation &+= 1
        isTaken = true
        self.tag = tag
        self.leaveBy = leaveBy
        self.deadline = deadline
        unsafe self.shared = shared
        unsafe bodyBytes = body?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
        bodySent = 0
        isReported = false
        bodyReceived = 0
        windowUsed = 0
        beginAnswer()
    }

    mutating func keep(path: Span<UInt8>, varying: Span<UInt8>) {
        pathBytes = path.count
        unsafe path.withUnsafeBytes { unsafe bytes.append($0) }
        unsafe varying.withUnsafeBytes { unsafe bytes.append($0) }
    }

    /// Also for the final answer after a 1xx.
    mutating func beginAnswer() {
        status = 0
        fieldBytes = 0
        bodyIsCut = false
        contentLength = nil
        bytes.removeAll()
    }

    mutating func clear() {
        isTaken = false
        stream = 0
        unsafe shared = nil
        unsafe bodyBytes = UnsafeRawBufferPointer(start: nil, count: 0)
        bodySent = 0
        bytes.removeAll()
    }

    var isSendingBody: Bool { unsafe bodyBytes.count > bodySent }

    /// Its headers and its END_STREAM were given out.
    var hasLeft: Bool { stream != 0 && !isSendingBody }
}

/// Names one request of one session, for `cancel`. Stale once the request has ended.
package struct RequestID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32
}
