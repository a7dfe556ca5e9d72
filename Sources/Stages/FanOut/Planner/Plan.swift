package import Schedules
package import Sends

/// The result of planning one request.
package struct Plan: Sendable, Equatable {
    /// A request and the lanes that get it.
    package struct LaneRequest: Sendable, Equatable {
        package var request: ExpansionRequest
        package var lanes: MemberLanes
    }

    /// A reminder for a scope that holds a send, because its timestamp would be too far ahead of the clock.
    package struct HeldSend: Sendable, Equatable {
        package var key: ScopeKey
        /// The time at which the send may go, in seconds since 1970.
        package var at: Int64
    }

    package struct Reply: Sendable, Equatable {
        package var address: ReplyAddress
        package var verdict: GatewayReply.PlannedVerdict
    }

    // MARK: Written in the transaction that commits the request's offset

    /// The verdicts on sends.
    package var progress: [ProgressRecord] = []
    /// The requests to lanes, in the order in which a lane begins them.
    package var requests: [LaneRequest] = []
    /// The time at which the group ends automatically.
    package var autoEnd: AutomaticEnd?

    // MARK: Outside of the transaction

    /// The versions that senders may drop now. It is written after the commit.
    package var note: SupersededVersions?
    /// The reply to the gateway whose request waits for the verdict. It is written after the commit.
    package var reply: Reply?
    /// The reminder, which is kept in memory already before the commit.
    package var heldSend: HeldSend?
    /// The app whose subscription was not stored, because subscriptions alone have made as many groups of the app as
    /// they may. It is counted for the log.
    package var appAtSubscriptionLimit: String?

    package init() {}

    /// Removes everything that a dry run must not do. It may only walk through the lanes and report the
    /// result. A dry run is a send, so the plan has no parts of a subscription.
    mutating func dropEffectsOfDryRun() {
        progress.removeAll { !$0.isDryRun }
        requests.removeAll { !$0.request.isDryRun }
        (autoEnd, note, heldSend) = (nil, nil, nil)
    }
}

extension ExpansionRequest {
    fileprivate var isDryRun: Bool {
        if case .expansion(let expansion) = self { expansion.isDryRun } else { false }
    }
}
