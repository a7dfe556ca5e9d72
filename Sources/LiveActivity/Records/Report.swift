/// What is told about one installation, or by a backend about one user: a record of `reports`, and the
/// body of `POST /v1/reports`.
package struct Report: Record, Hashable {
    package static let schemaVersion = 1

    package enum Kind: String, Sendable, CaseIterable {
        /// The push-to-start token of an activity type; without a type it serves every type of the app.
        case startToken
        /// The token of one running activity; replaces its previous one.
        case updateToken
        /// An activity changed its state.
        case state
        /// The installation wants no more activities of the type.
        case unregister
        /// Still alive.
        case heartbeat
        /// These activities are running, and no others.
        case reconcile
        /// Tags, attributes, login, logout.
        case profile
        /// The person touched the activity.
        case tap
        /// Forgets all that was said up to now: of the installation, or of a user everywhere.
        case erase
        /// APNs refused a token for good. Written by the senders, never taken from outside.
        case deadToken

        /// Whether an SDK may say this.
        package var isFromOutside: Bool { self != .deadToken }
    }

    package enum State: String, Sendable, CaseIterable {
        case active
        case pending
        case stale
        case ended
        case dismissed

        /// Whether the activity is over: its id never comes back.
        package var isFinal: Bool { self == .ended || self == .dismissed }
    }

    package static let tagsMax = 100
    package static let runningMax = 50
    /// Bytes of a profile's attributes.
    package static let attributesBytesMax = 16 * 1024
    /// Arrays and objects inside one another in them. Every record that holds them has room for more.
    package static let attributesDepthMax = 8

    /// The header of a report that lay in a wrong partition and was forwarded: the server's time of where
    /// it lay first, in digits. The cluster stamps what is forwarded anew, and by that time alone an old
    /// word would stand over newer ones.
    package static let receivedAtHeader: StaticString = "flotilla-received-at"
    /// Likewise the offset at which it lay first, in digits.
    package static let offsetHeader: StaticString = "flotilla-first-offset"
    /// The header of a user's erasure that every partition of `reports` has a copy of. It needs no value.
    package static let everywhereHeader: StaticString = "flotilla-everywhere"
    /// Places in a body are below this.
    package static let sequenceEnd = 1 << 20

    package var app: String
    /// Nil in what a backend says of a user: a profile, or that it be erased.
    package var environment: Maybe<Environment>
    /// Nil in what a backend says of a user, which holds for all the user's installations.
    package var installation: Maybe<String>
    package var kind: Kind
    package var user: Maybe<String>
    /// The phone says that nobody is logged in: `"userId": null`. Without the field it says nothing.
    package var isLoggedOut: Bool
    package var attributesType: Maybe<String>
    package var activity: Maybe<String>
    package var group: Maybe<String>
    /// In hexadecimal, or sealed by `TokenSeal.seal(tokenOf:)`.
    package var token: Maybe<String>
    package var state: Maybe<State>
    package var channel: Maybe<String>
    /// Of `reconcile`: the ids of the activities that run.
    package var running: Maybe<[String]>
    package var os: Maybe<String>
    package var appBuild: Maybe<String>
    package var frequentPushesEnabled: Maybe<Bool>
    package var activitiesEnabled: Maybe<Bool>
    package var tags: Maybe<[String]>
    package var attributes: Maybe<RawJSON>
    package var locale: Maybe<String>
    package var timeZone: Maybe<String>
    /// Milliseconds since 1970 by the phone's clock: a hint.
    package var eventTime: Maybe<Int64>
    package var id: Maybe<String>
    /// Of `tap`: the schedule behind what was touched.
    package var scheduleID: Maybe<String>
    package var scheduleName: Maybe<String>
    /// Of `deadToken`: which token was refused, and why.
    package var refusal: Maybe<TokenRefusal>
    /// The report's place in the body that it came in, from 0. Written by the gateway; a service that
    /// writes several reports about one installation at once does well to write it too.
    package var sequence: Maybe<Int>

    /// What APNs said of a token. Times are milliseconds since 1970.
    package struct TokenRefusal: Sendable, Hashable {
        /// `TokenSeal.hash`, in hexadecimal.
        package var tokenHash: String
        /// The registry entry that the push was for.
        package var entry: String
        package var reason: String
        /// Since when the token is dead, by APNs; not every refusal says it.
        package var invalidatedAt: Maybe<Int64>
        package var dispatchedAt: Int64

        package init(
            tokenHash: String, entry: String, reason: String, invalidatedAt: Int64?, dispatchedAt: Int64
        ) {
            self.tokenHash = tokenHash
            self.entry = entry
            self.reason = reason
            self.invalidatedAt = invalidatedAt
            self.dispatchedAt = dispatchedAt
        }
    }

    package init(app: String, environment: Environment, installation: String, kind: Kind) {
        self.init(app: app, environment: environment, installation: installation, user: nil, kind: kind)
    }

    /// A backend's profile of a user.
    package init(app: String, profileOf user: String) {
        self.init(app: app, environment: nil, installation: nil, user: user, kind: .profile)
    }

    /// A backend's wish that a user be forgotten.
    package init(app: String, eraseOf user: String) {
        self.init(app: app, environment: nil, installation: nil, user: user, kind: .erase)
    }

    private init(app: String, environment: Environment?, installation: String?, user: String?, kind: Kind) {
        self.app = app
        self.environment = environment
        self.installation = installation
        self.kind = kind
        self.user = user
        isLoggedOut = false
        (attributesType, activity, group, token, state) = (nil, nil, nil, nil, nil)
        (channel, running, os, appBuild) = (nil, nil, nil, nil)
        (frequentPushesEnabled, activitiesEnabled) = (nil, nil)
        (tags, attributes, locale, timeZone) = (nil, nil, nil, nil)
        (eventTime, id, scheduleID, scheduleName, refusal, sequence) = (nil, nil, nil, nil, nil, nil)
    }

    /// Whether it asks for something of all installations of a user, wherever they lie.
    package var isErasureOfUser: Bool { kind == .erase && installation == nil }

    /// Whose record it changes.
    package var subject: Recipient {
        if let installation { .installation(installation) } else { .user(user ?? "") }
    }

    package var key: [UInt8] {
        var bytes: [UInt8] = []
        writeKey(to: &bytes)
        return bytes
    }

    /// Into a buffer that is used again.
    package func writeKey(to bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        RecordKey.append(app, to: &bytes)
        bytes.append(RecordKey.separator)
        if let installation {
            RecordKey.append("i:", installation, to: &bytes)
        } else {
            RecordKey.append("u:", user ?? "", to: &bytes)
        }
    }
}
