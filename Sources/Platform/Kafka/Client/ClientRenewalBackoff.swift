internal import Lifecycle

/// The pauses before a consumer makes a new client in place of one that Kafka has fenced.
///
/// A fence is a reason for a new client and not for the end of the process. No other process is needed for
/// it: a static member can be fenced by its own earlier join request, if a dying coordinator left the request
/// behind. But two processes with one identity fence each other again and again. The pauses keep the cluster
/// usable until one of the two ends.
struct ClientRenewalBackoff {
    /// The pauses after the first, second and third fence, and after every later one.
    static let pausesMilliseconds = [1000, 2000, 5000, 10_000]
    /// A client that lived for this long begins with the first pause again.
    static let resetAfterMilliseconds = 60_000

    private var fenceCount = 0
    private var renewedAt: Instant
    /// The time to make the next client. Nil while there is a usable one.
    private(set) var dueAt: Instant?

    init(now: Instant) { renewedAt = now }

    /// Notes that the client has ended, or that a new one could not be made. Returns the pause before the
    /// next one.
    mutating func recordEnd(at now: Instant) -> Int {
        let hadClient = dueAt == nil
        if hadClient, now.milliseconds(since: renewedAt) >= Self.resetAfterMilliseconds { fenceCount = 0 }
        let pause = Self.pausesMilliseconds[min(fenceCount, Self.pausesMilliseconds.count - 1)]
        fenceCount += 1
        dueAt = now.advanced(byMilliseconds: pause)
        return pause
    }

    /// Notes that there is a new client.
    mutating func recordRenewal(at now: Instant) {
        renewedAt = now
        dueAt = nil
    }
}
