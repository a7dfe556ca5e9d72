/// The behavior of the simulated phones. The defaults are what Apple has published. Behavior that only users have
/// measured is off by default, and their numbers are in the comments.
package struct PhoneSettings: Sendable {
    /// A limit on pushes: this many at once, and the same number again in each period of `milliseconds`.
    package struct PushBudget: Sendable, Hashable {
        package let pushes: Int
        package let milliseconds: Int64

        package init(pushes: Int, milliseconds: Int64) {
            // A push must reserve at least one millisecond.
            precondition(pushes > 0 && milliseconds >= Int64(pushes))
            self.pushes = pushes
            self.milliseconds = milliseconds
        }

        /// Takes one push from the budget. Returns false if the budget is used up.
        ///
        /// Each push reserves an equal part of the period. `spentUntil` is the end of the reserved parts, in
        /// milliseconds since 1970, and may be one period ahead of `time`.
        func takePush(spentUntil: inout Int64, at time: Int64) -> Bool {
            let millisecondsPerPush = milliseconds / Int64(pushes)
            let reservedUntil = max(spentUntil, time)
            let hasRoom = reservedUntil - time <= milliseconds - millisecondsPerPush
            guard hasRoom else { return false }
            spentUntil = reservedUntil + millisecondsPerPush
            return true
        }
    }

    /// The treatment of an update above the budget.
    package enum Throttling: Sendable, Hashable {
        /// It is never shown.
        case drop
        /// The newest of these updates is shown after this delay.
        case delay(milliseconds: Int64)
    }

    /// Seed of the phones' tokens and random choices.
    package var seed: UInt64 = 1
    /// Bytes of a token. Apple promises no length, and 80 bytes have been observed.
    package var tokenByteCount = 80

    /// Running activities of one app.
    package var runningActivitiesMax = 5
    /// Ended activities on the screen of one phone. Above it the oldest leaves.
    package var endedActivitiesMax = 20
    /// Time from the start until the system ends an activity.
    package var activeMilliseconds: Int64 = 8 * 3_600_000
    /// Longest time from the end until an activity leaves the Lock Screen.
    package var endedShownMilliseconds: Int64 = 4 * 3_600_000
    /// Whether an update replaces shown content with an equal timestamp. Apple does not document this, and a
    /// server must not rely on it.
    package var acceptsEqualTimestamps = false

    /// Share of starts that produce an update token.
    package var updateTokenShare = 1.0
    /// Time from the start until the app gets the update token.
    package var updateTokenMilliseconds: ClosedRange<Int64> = 200...2_000
    /// Share of starts after which the system issues a new start token.
    package var startTokenRotationShare = 0.0
    /// Time for which APNs still accepts a dead token, before it answers 410.
    package var deadTokenAcceptedMilliseconds: Int64 = 0
    /// Share of state changes that the app reports to its server.
    package var stateReportShare = 1.0

    /// Budget of starts. Users observed about 10 in a short time.
    package var startBudget: PushBudget?
    /// Budget of updates with priority 10. Users observed about 15 an hour.
    package var updateBudget: PushBudget?
    /// The same budget if the user allows frequent updates. Users observed about 230 an hour.
    package var frequentUpdateBudget: PushBudget?
    package var throttling = Throttling.drop

    // Limits of the simulator

    /// Pushes stored for all phones that are away. Above it pushes are lost.
    package var storedPushesMax = 200_000
    /// Newest receptions that are remembered, for all phones together.
    package var receptionsMax = 1_000_000
    /// Reports that wait for their sink. Above it reports are lost, like those of an offline phone.
    package var reportsWaitingMax = 4_000_000
    /// Known channels. An activity on any other channel receives nothing.
    package var channelsMax = 100_000
    /// Broadcasts in progress. Above it the oldest is completed at once, and the sender waits.
    package var broadcastsMax = 1_000

    // Limits of the work of one tick, so that it does not block the simulator's loop. The rest follows in the next
    // ticks.

    /// Reports that are passed to the sink.
    package var reportsPerTick = 20_000
    /// Activities whose due changes are made.
    package var wakesPerTick = 100_000
    /// Phones that receive a broadcast.
    package var broadcastPhonesPerTick = 50_000

    package init() {}
}
