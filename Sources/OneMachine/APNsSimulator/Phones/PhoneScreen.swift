package import APNs
package import LiveActivity

/// The state of one phone: its screen, and facts that its user cannot see.
package struct PhoneScreen: Sendable, Hashable {
    package struct Activity: Sendable, Hashable {
        package enum ActivityState: String, Sendable, CaseIterable {
            case active
            case stale
            case ended
        }

        package var id: String
        package var attributesType: String
        package var group: String?
        package var contentState: RawJSON?
        /// Timestamp of the shown push, in seconds since 1970.
        package var timestamp: Int64
        package var state: ActivityState
        /// Time of the last change of content, in milliseconds since 1970 like all times here.
        package var contentChangedAt: Int64
        package var startedAt: Int64
        package var channel: String?
        /// Whether the app has reported a token to its server.
        package var isTokenReported: Bool
    }

    /// A push that the phone received or should have received, with its effect.
    package struct ReceivedPush: Sendable, Hashable {
        package var receivedAt: Int64
        /// The push's apns-id.
        package var id: PushID
        /// The event. Nil if ActivityKit does not know it.
        package var event: PushEvent?
        package var timestamp: Int64
        package var priority: Int
        package var effect: PushEffect
        package var problem: DecodingProblem?

        /// The place and the reason of a decoding failure.
        package struct DecodingProblem: Sendable, Hashable {
            /// Path from the payload's `aps`.
            package var path: String
            package var message: String
        }
    }

    package var installation: String
    package var user: String?
    package var app: String
    package var environment: Environment
    package var system: OSVersion
    package var isAway: Bool
    package var isQuit: Bool
    package var isRemoved: Bool
    package var isSwitchedOff: Bool
    package var allowsFrequentUpdates: Bool
    /// Activities, newest first.
    package var activities: [Activity]
    package var received: [ReceivedPush]
}

/// The states of one group on all phones.
package struct GroupScreens: Sendable, Hashable {
    package struct ShownState: Sendable, Hashable {
        package var contentState: RawJSON?
        package var activities: Int
    }

    package var group: String
    /// Number of activities on screens, including ended ones.
    package var activities: Int
    /// Number of phones with more than one of them, which a duplicate start causes.
    package var phonesWithSeveral: Int
    /// One page of the shown states, the most frequent first.
    package var shown: [ShownState]
    /// Number of different content states.
    package var states: Int
}
