package import Identifiers
package import JSON
package import RecordFormat

/// A report about one installation, or from a backend about one user: a record of `reports`, and the body of
/// `POST /v1/reports`.
package struct Report: JSONRecord, Hashable {
    package static let schemaVersion = 1

    package enum Kind: String, Sendable, CaseIterable {
        /// The push-to-start token of an activity type. Without a type it serves every type of the app.
        case startToken
        /// The token of one running activity. It replaces the activity's previous token.
        case updateToken
        /// An activity changed its state.
        case state
        /// The installation wants no more activities of the type.
        case unregister
        /// The installation is still in use.
        case heartbeat
        /// The complete list of running activities.
        case reconcile
        /// Tags, attributes, a login or a logout.
        case profile
        /// The person touched the activity.
        case tap
        /// Erases all earlier reports, of the installation or of a user on all installations.
        case erase
        /// APNs refused a token for good. Only senders write it. It is never accepted from outside.
        case deadToken
        /// APNs accepted a token for the first time. Only senders write it. It is never accepted from outside.
        case provenToken
        /// Another installation has reported the same start token later. Only ingest writes it.
        case tokenTakenOver

        /// Whether an SDK may send this kind.
        package var isAllowedFromClients: Bool {
            switch self {
            case .deadToken, .provenToken, .tokenTakenOver: false
            case .startToken, .updateToken, .state, .unregister, .heartbeat, .reconcile, .profile, .tap,
                .erase:
                true
            }
        }

        /// Whether the report names a token by its hash and its entry of the registry (`TokenProof`).
        var namesTokenByHash: Bool { self == .provenToken || self == .tokenTakenOver }
    }

    /// The state of an activity as ActivityKit names it.
    package enum ActivityState: String, Sendable, CaseIterable {
        case active
        case pending
        case stale
        case ended
        case dismissed

        /// Whether the activity is over. Its id never returns.
        package var isFinal: Bool { self == .ended || self == .dismissed }
    }

    /// The maximum number of tags.
    package static let tagsMax = 100
    /// The maximum number of ids in a list of running activities.
    package static let runningActivitiesMax = 50
    /// The maximum size of a profile's attributes in bytes.
    package static let attributesBytesMax = 16 * 1024
    /// The maximum nesting depth of arrays and objects in attributes. Every record that holds them allows a
    /// greater depth.
    package static let attributesDepthMax = 8

    /// The header with the server time of the report's first record, in decimal digits. A report that was
    /// forwarded from a wrong partition has it, because Kafka stamps the forwarded record again. Ordered by the
    /// new timestamp, an old report would override newer ones.
    package static let receivedAtHeader: StaticString = "flotilla-received-at"
    /// The header with the offset of the report's first record, in decimal digits.
    package static let offsetHeader: StaticString = "flotilla-first-offset"
    /// The header of a user's erasure that has a copy in every partition of `reports`. Its value is not used.
    package static let allPartitionsHeader: StaticString = "flotilla-everywhere"
    /// Upper bound of a report's position in a body. Positions are below it.
    package static let bodyPositionEnd = 1 << 20

    package var app: String
    /// Nil in a backend's report about a user: a profile or an erasure.
    package var environment: Maybe<Environment>
    /// Nil in a backend's report about a user, which applies to all the user's installations.
    package var installation: Maybe<String>
    package var kind: Kind
    package var user: Maybe<String>
    /// Whether the phone reports that no user is logged in: `"userId": null`. A missing field says nothing
    /// about the user.
    package var isLoggedOut: Bool
    package var attributesType: Maybe<String>
    package var activity: Maybe<String>
    package var group: Maybe<String>
    /// The push token, in hexadecimal or sealed by `TokenSeal.seal(tokenOf:)`.
    package var token: Maybe<String>
    package var state: Maybe<ActivityState>
    /// The broadcast channel that the activity listens to.
    package var channel: Maybe<String>
    /// For `reconcile`: the ids of the running activities.
    package var runningActivities: Maybe<[String]>
    package var os: Maybe<String>
    package var appBuild: Maybe<String>
    package var frequentPushesEnabled: Maybe<Bool>
    package var activitiesEnabled: Maybe<Bool>
    package var tags: Maybe<[String]>
    package var attributes: Maybe<RawJSON>
    package var locale: Maybe<String>
    package var timeZone: Maybe<String>
    /// Milliseconds since 1970 by the phone's clock. It is only a hint.
    package var eventTime: Maybe<Int64>
    /// The client's own id of the report. Two taps with the same id are one tap.
    package var id: Maybe<String>
    /// For `tap`: the send behind the newest push to the touched activity.
    package var sendID: Maybe<String>
    /// For `tap`: the schedule behind that send.
    package var scheduleID: Maybe<String>
    package var scheduleName: Maybe<String>
    /// For `deadToken`: the refused token and the reason.
    package var refusal: Maybe<TokenRefusal>
    /// For `provenToken`: the accepted token. For `tokenTakenOver`: the lost one.
    package var proof: Maybe<TokenProof>
    /// The report's position in its request body, from 0. The gateway writes it. A service that writes
    /// several reports about one installation at once should write it too.
    package var bodyPosition: Maybe<Int>

    /// APNs' refusal of a token. Times are milliseconds since 1970.
    package struct TokenRefusal: Sendable, Hashable {
        /// `TokenSeal.hash`, in hexadecimal.
        package var tokenHash: String
        /// The registry entry of the push.
        package var entry: String
        package var reason: String
        /// The time since which the token is dead, according to APNs. Not every refusal contains it.
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

    /// A token by its hash.
    package struct TokenProof: Sendable, Hashable {
        /// `TokenSeal.hash`, in hexadecimal.
        package var tokenHash: String
        /// The registry entry of the push.
        package var entry: RegistryKey.Entry

        package init(tokenHash: String, entry: RegistryKey.Entry) {
            self.tokenHash = tokenHash
            self.entry = entry
        }
    }

    package init(app: String, environment: Environment, installation: String, kind: Kind) {
        self.init(app: app, environment: environment, installation: installation, user: nil, kind: kind)
    }

    /// Creates a backend's profile of a user.
    package init(app: String, profileOf user: String) {
        self.init(app: app, environment: nil, installation: nil, user: user, kind: .profile)
    }

    /// Creates a backend's request to erase a user.
    package init(app: String, erasing user: String) {
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
        (channel, runningActivities, os, appBuild) = (nil, nil, nil, nil)
        (frequentPushesEnabled, activitiesEnabled) = (nil, nil)
        (tags, attributes, locale, timeZone) = (nil, nil, nil, nil)
        (eventTime, id, sendID, scheduleID, scheduleName) = (nil, nil, nil, nil, nil)
        (refusal, proof, bodyPosition) = (nil, nil, nil)
    }

    /// Whether the report asks to erase a user on all installations, in any partition.
    package var isUserErasure: Bool { kind == .erase && installation == nil }

    /// The installation or the user whose record the report changes.
    package var subject: Recipient {
        if let installation { .installation(installation) } else { .user(user ?? "") }
    }

    /// The key, for example `rides/i:PHONE-1`: the app and the subject.
    package var key: [UInt8] {
        var bytes: [UInt8] = []
        writeKey(to: &bytes)
        return bytes
    }

    /// Writes the key into a reused buffer.
    package func writeKey(to bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        RecordKey.append(app, to: &bytes)
        bytes.append(RecordKey.separator)
        RecordKey.append(subject, to: &bytes)
    }
}
