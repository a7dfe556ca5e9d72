package import Schedules
package import Sends

/// The result of planning one request. All of it is written in one transaction with the next offset. The note and the
/// reply follow the commit.
package struct Plan: Sendable, Equatable {
    /// A request and the lanes that get it.
    package struct LaneRequest: Sendable, Equatable {
        package var request: ExpansionRequest
        package var lanes: MemberLanes
    }

    package var progress: [ProgressRecord] = []
    /// The requests to lanes, in the order in which a lane begins them.
    package var requests: [LaneRequest] = []
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
        requests.removeAll { !$0.request.isDryRun }
        (autoEnd, note, heldSend) = (nil, nil, nil)
    }
}

extension ExpansionRequest {
    fileprivate var isDryRun: Bool {
        if case .expansion(let expansion) = self { expansion.isDryRun } else { false }
    }
}
