internal import HTTP2
internal import Lifecycle

/// The content of one push, beside the pool's own entry. The token is stored in the table.
@safe struct PushEntry {
    /// The push's template, which counts the parcels that use it.
    private var unmanagedTemplate: Unmanaged<PushTemplate>?
    private(set) var id = PushID(high: 0, low: 0)
    private(set) var tag: UInt64 = 0
    private(set) var sendBy = Instant.distantFuture
    private(set) var deadline = Instant.distantFuture
    private(set) var acceptedAt = Instant.distantFuture
    private(set) var request: RequestID?
    private(set) var bearerRevision = 0
    private(set) var completion: Completion?

    mutating func begin(
        with template: PushTemplate, id: PushID, tag: UInt64, within limits: PushDeadlines, at now: Instant,
        then completion: Completion?
    ) {
        unsafe unmanagedTemplate = template.retainForPush()
        self.id = id
        self.tag = tag
        sendBy = limits.sendBy
        deadline = limits.deadline
        acceptedAt = now
        self.completion = completion
    }

    /// The template of an open push.
    var template: PushTemplate? { unsafe unmanagedTemplate?.takeUnretainedValue() }

    /// Compares the template without touching its reference count.
    func uses(_ template: PushTemplate) -> Bool {
        unsafe unmanagedTemplate?.toOpaque() == Unmanaged.passUnretained(template).toOpaque()
    }

    /// Releases the template.
    mutating func releaseTemplate() {
        if let template = unsafe unmanagedTemplate { unsafe PushTemplate.releaseAfterPush(template) }
        unsafe unmanagedTemplate = nil
    }

    mutating func markSent(as request: RequestID, with bearer: BearerToken) {
        self.request = request
        bearerRevision = bearer.revision
    }

    /// - Parameter keeps: whether an answer may still follow.
    mutating func end(expectsAnswer: Bool) -> (tag: UInt64, takenAt: Instant, completion: Completion?) {
        defer {
            if !expectsAnswer {
                releaseTemplate()
                request = nil
            }
            // The caller already has the outcome, so a late answer is dropped.
            if completion != nil { completion = expectsAnswer ? { _, _ in } : nil }
        }
        return (tag, acceptedAt, completion)
    }

    typealias Completion = (PushOutcome, PushDetails?) -> Void
}
