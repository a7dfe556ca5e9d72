internal import HTTP2
internal import Lifecycle

/// The content of one push, beside the pool's own entry. The token is stored in the table.
@safe struct Parcel {
    /// The push's template, which counts the parcels that use it.
    private var held: Unmanaged<PushTemplate>?
    private(set) var id = PushID(high: 0, low: 0)
    private(set) var tag: UInt64 = 0
    private(set) var leaveBy = Instant.distantFuture
    private(set) var deadline = Instant.distantFuture
    private(set) var takenAt = Instant.distantFuture
    private(set) var request: RequestID?
    private(set) var bearerRevision = 0
    private(set) var completion: Completion?

    mutating func begin(
        _ template: PushTemplate, _ id: PushID, tag: UInt64, within limits: PushLimits, at now: Instant,
        then completion: Completion?
    ) {
        unsafe held = template.hold()
        self.id = id
        self.tag = tag
        leaveBy = limits.leaveBy
        deadline = limits.deadline
        takenAt = now
        self.completion = completion
    }

    /// The template of an open push.
    var template: PushTemplate? { unsafe held?.takeUnretainedValue() }

    /// Compares the template without touching its reference count.
    func isOf(_ template: PushTemplate) -> Bool {
        unsafe held?.toOpaque() == Unmanaged.passUnretained(template).toOpaque()
    }

    /// Releases the template.
    mutating func drop() {
        if let template = unsafe held { unsafe PushTemplate.letGo(template) }
        unsafe held = nil
    }

    mutating func left(_ request: RequestID, _ bearer: ProviderBearer) {
        self.request = request
        bearerRevision = bearer.revision
    }

    /// - Parameter keeps: whether an answer may still follow.
    mutating func ended(keeps: Bool) -> (tag: UInt64, takenAt: Instant, completion: Completion?) {
        defer {
            if !keeps {
                drop()
                request = nil
            }
            // The caller already has the outcome, so a late answer is dropped.
            if completion != nil { completion = keeps ? { _, _ in } : nil }
        }
        return (tag, takenAt, completion)
    }

    typealias Completion = (PushOutcome, PushDetails?) -> Void
}
