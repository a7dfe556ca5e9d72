internal import Lifecycle

/// The pauses before a consumer makes a new client in place of one that Kafka has fenced.
///
/// An earlier join request of a static member can fence the member itself, if a dying coordinator left the request behind.
/// No other process is needed for that, so a fence is a reason for a new client and not for the end of the process. Two processes with one
/// identity fence each other again and again. The pauses keep the cluster usable until one of the two ends.
struct ClientRenewalBackoff {
    static let pausesMilliseconds = [1000, 2000, 5000, 10_000]
    /// A client that lived for this long begins with the first pause again.
    static let resetAfterMilliseconds = 60_000

    private var fenceCount = 0
    private var renewedAt: Instant
    /// The time of the next try while there is no usable client.
    private(set) var dueAt: Instant?

    init(now: Instant) { renewedAt = now }

    /// The client is at its end. Returns the pause before the next one is made.
    mutating func recordEnd(at now: Instant) -> Int {
        if now.milliseconds(since: renewedAt) >= Self.resetAfterMilliseconds { fenceCount = 0 }
        let pause = Self.pausesMilliseconds[min(fenceCount, Self.pausesMilliseconds.count - 1)]
        fenceCount += 1
        dueAt = now.advanced(byMilliseconds: pause)
        return pause
    }

    /// A new client is there.
    mutating func recordRenewal(at now: Instant) {
        renewedAt = now
        dueAt = nil
    }
}
