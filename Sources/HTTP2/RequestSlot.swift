internal import CNghttp2

/// One open request. The slot's address is the stream's user data, so it must not move; a new
/// generation begins whenever the slot is taken again.
@safe struct RequestSlot {
    let index: Int
    var generation: UInt32 = 0
    /// 0 while the slot is free.
    var stream: Int32 = 0
    var tag: UInt64 = 0
    /// Nanoseconds on the steady clock.
    var deadline: Int64 = .max

    /// Kept until the stream closes: nghttp2 reads both where they are.
    var template: HeaderTemplate?
    var body: SharedBody?
    var bodySent = 0

    /// The answer so far. Fields first, then the body.
    var status: UInt16 = 0
    var headerListBytes = 0
    var fieldBytes = 0
    var answer = ByteStore()
    var bodyIsCut = false
    /// The peer ended its side: the answer is complete.
    var isAnswered = false
    /// Its one outcome has been given already; only a late answer may follow.
    var isReported = false

    init(index: Int) { self.index = index }

    mutating func begin(tag: UInt64, deadline: Int64, template: HeaderTemplate, body: SharedBody?) {
        generation &+= 1
        self.tag = tag
        self.deadline = deadline
        self.template = template
        self.body = body
        bodySent = 0
        isReported = false
        beginAnswer()
        isAnswered = false
    }

    /// Also for the final answer after a 1xx.
    mutating func beginAnswer() {
        status = 0
        headerListBytes = 0
        fieldBytes = 0
        bodyIsCut = false
        answer.removeAll()
    }

    mutating func clear() {
        stream = 0
        template = nil
        body = nil
        answer.removeAll()
    }

    var isSendingBody: Bool { (body?.count ?? 0) > bodySent }
}

/// Names one request of one session, for `cancel`. Stale once the request has ended.
package struct RequestID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32
}
