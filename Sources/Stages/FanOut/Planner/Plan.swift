package import Schedules
package import Sends

/// The result of planning one request. All of it is written in one transaction with the next offset. The note and the
/// reply follow the commit.
package struct Plan: Sendable, Equatable {
    /// An expansion and its lanes.
    package struct LaneExpansion: Sendable, Equatable {
        package var expansion: Expansion
        package var lanes: MemberLanes
    }

    /// A stop instruction and its lanes.
    package struct LaneStop: Sendable, Equatable {
        package var instruction: StopInstruction
        package var lanes: MemberLanes
    }

    /// An answer to a subscription and its lane.
    package struct LaneAnswer: Sendable, Equatable {
        package var answer: SubscriptionAnswer
        package var lane: Int
    }

    package var progress: [ProgressRecord] = []
    package var expansions: [LaneExpansion] = []
    /// The order to lanes to stop a send.
    package var stop: LaneStop?
    /// The answer to a lane's subscription, if the group has no state to send.
    package var subscriptionAnswer: LaneAnswer?
    /// The app of a subscription that was not stored, because only subscriptions have made too many groups of the app.
    package var appBeyondLimit: String?
    /// The time at which the group ends automatically.
    package var autoEnd: AutomaticEnd?
    package var note: SupersededVersions?
    /// The scope that holds a send until the clock reaches its version.
    package var heldSend: HeldSend?
    /// The reply to the gateway whose request waits for the verdict.
    package var reply: Reply?

    package struct HeldSend: Sendable, Equatable {
        package var key: ScopeKey
        /// The time at which the send may go, in seconds since 1970.
        package var at: Int64
    }

    package struct Reply: Sendable, Equatable {
        package var address: ReplyAddress
        package var verdict: GatewayReply.PlannedVerdict
    }

    package init() {}

    /// Removes everything that a dry run must not do. It may only walk through the lanes and report the
    /// result.
    mutating func keepDryRun() {
        progress.removeAll { !$0.isDryRun }
        expansions.removeAll { !$0.expansion.isDryRun }
        (stop, autoEnd, note, heldSend) = (nil, nil, nil, nil)
    }
}
