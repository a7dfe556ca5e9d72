package import APNs
package import Identifiers
package import JSON
package import Payloads

/// A snapshot of one phone: its screen, the received pushes, and facts that its user cannot see.
package struct PhoneScreen: Sendable, Hashable {
    /// An activity on the screen.
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
        /// Time of the last change of content, in milliseconds since 1970 like the other times.
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
        /// The problem, if the effect is a decoding failure.
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
    /// Whether the user has quit the app.
    package var isQuit: Bool
    /// Whether the app is not installed any more.
    package var isRemoved: Bool
    /// Whether the user has switched Live Activities off.
    package var isSwitchedOff: Bool
    package var allowsFrequentUpdates: Bool
    /// Activities, newest first.
    package var activities: [Activity]
    /// Newest received pushes, newest first.
    package var receivedPushes: [ReceivedPush]
}
