/// How phones behave. What Apple has published is the default; what only users have measured is off,
/// with their numbers beside it.
package struct PhoneSettings: Sendable {
    /// A person's patience, in pushes: so many at once, and as many again in each `milliseconds`.
    package struct Budget: Sendable, Hashable {
        package let pushes: Int
        package let milliseconds: Int64

        package init(pushes: Int, milliseconds: Int64) {
            precondition(pushes > 0 && milliseconds >= Int64(pushes))
            self.pushes = pushes
            self.milliseconds = milliseconds
        }

        /// Takes one push out of the budget. All it remembers is the time until which it is spent.
        func allows(_ spentUntil: inout Int64, at time: Int64) -> Bool {
            let share = milliseconds / Int64(pushes)
            let base = max(spentUntil, time)
            guard base - time <= milliseconds - share else { return false }
            spentUntil = base + share
            return true
        }
    }

    /// What becomes of an update beyond the budget.
    package enum Throttling: Sendable, Hashable {
        case drop
        /// The newest one is shown so much later.
        case delay(milliseconds: Int64)
    }

    package var seed: UInt64 = 1
    /// Bytes of a token. Apple promises no length; 80 have been seen.
    package var tokenBytes = 80

    /// Running activities of one app.
    package var activitiesMax = 5
    /// Ended activities of one phone that are still on the screen; beyond it the oldest leaves.
    package var endedMax = 20
    /// From the start until the system ends an activity.
    package var activeMilliseconds: Int64 = 8 * 3_600_000
    /// From the end until it leaves the Lock Screen, at the latest.
    package var shownMilliseconds: Int64 = 4 * 3_600_000
    /// Whether an update with the timestamp that is shown already replaces it. Apple does not say; a
    /// server that relies on it is wrong either way.
    package var takesEqualTimestamps = false

    /// How many of the starts yield an update token.
    package var updateTokenShare = 1.0
    package var updateTokenMilliseconds: ClosedRange<Int64> = 200...2_000
    /// How many of the starts make the system issue another start token.
    package var startTokenRotationShare = 0.0
    /// How long APNs still takes a token that is dead. It then answers 410.
    package var deadTokenMilliseconds: Int64 = 0
    /// How many state changes the app tells its server.
    package var stateReportShare = 1.0

    /// Users saw about 10 in a short time.
    package var startBudget: Budget?
    /// Of priority 10 alone. Users saw about 15 an hour.
    package var updateBudget: Budget?
    /// The same where the person allows frequent updates. Users saw some 230 an hour.
    package var frequentUpdateBudget: Budget?
    package var throttling = Throttling.drop

    /// Pushes that are kept for phones that are away, of all phones; beyond it they are lost.
    package var storedMax = 200_000
    /// The newest receptions that are remembered, of all phones together.
    package var receivedMax = 1_000_000
    /// Reports that wait for their sink; beyond it they are lost, as those of a phone without a network.
    package var reportsWaitingMax = 4_000_000
    /// Channels that are known; what listens to another one hears nothing.
    package var channelsMax = 100_000
    /// Broadcasts on their way; beyond it one is taken to its end at once, and the sender waits.
    package var broadcastsMax = 1_000
    /// Reports that leave in one turn, and activities that one turn wakes; the rest follow in the next.
    package var reportsPerTurn = 20_000
    package var wakesPerTurn = 100_000
    /// Phones that one turn serves from a broadcast; the rest follow in the next turns.
    package var broadcastPhonesPerTurn = 50_000

    package init() {}
}
