internal import CNghttp2

/// One open request. The slot's address is the stream's user data, so it must not move; a new
/// generation begins whenever the slot is taken again.
@safe struct RequestSlot {
    let index: Int
    var generation: UInt32 = 0
    /// 0 while the slot is free.
    var stream: Int32 = 0
    var tag: UInt64 = 0
    /// Nanoseconds on the steady clock: when it ends without an answer, and after which it must not leave.
    var deadline: Int64 = .max
    var leaveBy: Int64 = .max

    /// Kept until the stream closes: both are read where they are when the frames go out.
    var template: RequestTemplate?
    var body: SharedBody?
    /// The body's: to reach them by `body` would count a reference for each frame.
    private(set) var bodyBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    var bodySent = 0

    /// Until the request leaves, its path and its varying value; then the answer so far, fields first.
    var bytes = ByteStore()
    var pathBytes = 0
    var status: UInt16 = 0
    var headerListBytes = 0
    var fieldBytes = 0
    var bodyIsCut = false
    /// The peer ended its side: the answer is complete.
    var isAnswered = false
    /// Its one outcome has been given already; only a late answer may follow.
    var isReported = false

    init(index: Int) { self.index = index }

    mutating func begin(
        tag: UInt64, leaveBy: Int64, deadline: Int64, template: RequestTemplate, body: SharedBody?
    ) {
        generation &+= 1
        self.tag = tag
        self.leaveBy = leaveBy
        self.deadline = deadline
        self.template = template
        self.body = body
        unsafe bodyBytes = body?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
        bodySent = 0
        isReported = false
        beginAnswer()
        isAnswered = false
    }

    mutating func keep(path: Span<UInt8>, varying: Span<UInt8>) {
        pathBytes = path.count
        unsafe path.withUnsafeBytes { unsafe bytes.append($0) }
        unsafe varying.withUnsafeBytes { unsafe bytes.append($0) }
    }

    /// Also for the final answer after a 1xx.
    mutating func beginAnswer() {
        status = 0
        headerListBytes = 0
        fieldBytes = 0
        bodyIsCut = false
        bytes.removeAll()
    }

    mutating func clear() {
        stream = 0
        template = nil
        body = nil
        unsafe bodyBytes = UnsafeRawBufferPointer(start: nil, count: 0)
        bytes.removeAll()
    }

    var isSendingBody: Bool { unsafe bodyBytes.count > bodySent }
}

/// Names one request of one session, for `cancel`. Stale once the request has ended.
package struct RequestID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32
}
