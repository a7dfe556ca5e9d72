internal import Lifecycle

/// A slot of a pool's `PushTable`: the content of one push that has not ended. The slot of the same index in
/// the state machine (`PoolRequest`) has its phase. The table stores the token.
@safe struct PushEntry {
    /// The push's template. The template counts the entries that use it.
    private var unmanagedTemplate: Unmanaged<PushTemplate>?
    private(set) var id = PushID(high: 0, low: 0)
    private(set) var tag: UInt64 = 0
    private(set) var sendBy = Instant.distantFuture
    private(set) var deadline = Instant.distantFuture
    /// Time at which the client took the push.
    private(set) var takenAt = Instant.distantFuture
    /// The revision of the provider token with which the push was sent.
    private(set) var bearerRevision = 0
    /// The function that receives the outcome in place of the client's receiver; nil for nearly all pushes.
    private(set) var completion: Completion?

    typealias Completion = (PushOutcome, PushDetails?) -> Void

    /// Fills the slot with a new push.
    mutating func begin(
        with template: PushTemplate, id: PushID, tag: UInt64, within deadlines: PushDeadlines,
        at now: Instant, then completion: Completion?
    ) {
        unsafe unmanagedTemplate = template.retainForPush()
        self.id = id
        self.tag = tag
        sendBy = deadlines.sendBy
        deadline = deadlines.deadline
        takenAt = now
        self.completion = completion
    }

    /// The template of an open push.
    var template: PushTemplate? { unsafe unmanagedTemplate?.takeUnretainedValue() }

    /// Whether the push has this template. The comparison does not touch the reference count.
    func uses(_ template: PushTemplate) -> Bool {
        unsafe unmanagedTemplate?.toOpaque() == Unmanaged.passUnretained(template).toOpaque()
    }

    /// Releases the template, which may free it.
    mutating func releaseTemplate() {
        if let template = unsafe unmanagedTemplate { unsafe PushTemplate.releaseAfterPush(template) }
        unsafe unmanagedTemplate = nil
    }

    mutating func markSent(with bearer: BearerToken) { bearerRevision = bearer.revision }

    /// Ends the push and returns the values for its report.
    ///
    /// - Parameter expectsAnswer: whether an answer may still follow. Then the entry stays until it comes.
    mutating func end(expectsAnswer: Bool) -> (tag: UInt64, takenAt: Instant, completion: Completion?) {
        let ended = (tag: tag, takenAt: takenAt, completion: completion)
        if !expectsAnswer { releaseTemplate() }
        // The completion gets the outcome now. An empty one takes its place and drops a late answer, which would
        // otherwise go to the client's receiver.
        if completion != nil { completion = expectsAnswer ? { _, _ in } : nil }
        return ended
    }
}
