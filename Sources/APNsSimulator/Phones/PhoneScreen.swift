package import APNs
package import LiveActivity

/// One phone, as somebody who looks at it sees it, and what he cannot see.
package struct PhoneScreen: Sendable, Hashable {
    package struct Activity: Sendable, Hashable {
        package enum State: String, Sendable, CaseIterable {
            case active
            case stale
            case ended
        }

        package var id: String
        package var attributesType: String
        package var group: String?
        package var contentState: RawJSON?
        /// Seconds since 1970, of the push that it shows.
        package var timestamp: Int64
        package var state: State
        /// Milliseconds since 1970, as all times here: since when it shows what it shows.
        package var since: Int64
        package var startedAt: Int64
        package var channel: String?
        /// Whether the app has told its server a token.
        package var isTokenReported: Bool
    }

    /// A push that it received, or should have received, and what became of it.
    package struct Reception: Sendable, Hashable {
        package var at: Int64
        /// The push's apns-id.
        package var id: PushID
        /// Nil for an event that ActivityKit does not know.
        package var event: PushEvent?
        package var timestamp: Int64
        package var priority: Int
        package var effect: PushEffect
        package var problem: Problem?

        /// Where decoding failed, and why.
        package struct Problem: Sendable, Hashable {
            /// From the payload's `aps`.
            package var path: String
            package var says: String
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
    /// Newest first.
    package var activities: [Activity]
    package var received: [Reception]
}

/// How many phones show what of one group.
package struct GroupScreens: Sendable, Hashable {
    package struct Shown: Sendable, Hashable {
        package var contentState: RawJSON?
        package var activities: Int
    }

    package var group: String
    /// Activities on the screen, ended ones among them.
    package var activities: Int
    /// Phones that show more than one of them: a start that was sent twice.
    package var phonesWithSeveral: Int
    /// What most show comes first; one page of it.
    package var shown: [Shown]
    /// How many different content-states there are.
    package var states: Int
}
