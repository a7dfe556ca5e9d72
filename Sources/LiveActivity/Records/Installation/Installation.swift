/// All that reports have said about one installation, or a backend about one user: a record of
/// `installations`, and the truth of which the registry's rows are a view.
@usableFromInline package struct Installation: Record, Hashable {
    /// Since 2 a time may end with an order and a claim, which a reader of 1 would refuse.
    package static let schemaVersion = 2

    /// Activity types with a start token; past it the one not heard of for longest is forgotten.
    package static let startsMax = 50
    /// Of these, types that the app has not declared: whoever has a report key can make them up.
    package static let undeclaredTypesMax = 16
    /// Activities, the ended ones for a while too; past it the one not heard of for longest is forgotten.
    package static let activitiesMax = 50
    /// Refused tokens that are remembered; past it the oldest refusal is forgotten.
    package static let refusedMax = 16
    /// Taps that are remembered; past it the oldest is forgotten, and what is not newer than it is not told.
    package static let tapsMax = 16
    /// Recipients that it has left within a day; past it the rows under the oldest go at once.
    package static let movedMax = 8

    package let app: String
    /// Whom it is about. A user's has a profile and nothing else.
    package let subject: Recipient
    /// One, in an array: there is much of it, it is handed on far more often than it is changed, and an
    /// array is copied only where one of two holders changes it.
    @usableFromInline var facts: [Facts]

    package init(app: String, subject: Recipient) {
        self.app = app
        self.subject = subject
        facts = [Facts()]
    }

    /// As the reports' about it.
    package var key: [UInt8] { RecordKey.join(app, subject.text) }

    /// Whom a send addresses to reach it.
    package var recipient: Recipient { user?.value ?? subject }

    /// A push token as it is kept.
    package struct Token: Sendable, Hashable {
        /// `TokenSeal.hash`, in hexadecimal.
        package var hash: String
        /// As `TokenSeal.seal` stores it; nil once the token is of no more use. The rest stays, so that
        /// nothing older can take its place.
        package var sealed: Maybe<String>
        package var environment: Environment
        package var at: ReportTime

        package init(hash: String, sealed: String?, environment: Environment, at: ReportTime) {
            self.hash = hash
            self.sealed = sealed
            self.environment = environment
            self.at = at
        }
    }

    /// The push-to-start token of one activity type.
    @usableFromInline package struct Start: Sendable, Hashable {
        /// Nil where the token serves every type of the app.
        package var type: Maybe<String>
        package var token: Maybe<Token>
        package var unregisteredAt: Maybe<ReportTime>

        package init(type: String?, token: Token? = nil, unregisteredAt: ReportTime? = nil) {
            self.type = type
            self.token = token
            self.unregisteredAt = unregisteredAt
        }
    }

    /// One activity, by the system's id.
    @usableFromInline package struct Activity: Sendable, Hashable {
        package var id: String
        package var type: Maybe<Said<String>>
        package var group: Maybe<Said<String>>
        package var channel: Maybe<Said<String>>
        package var token: Maybe<Token>
        package var state: Maybe<Said<Report.State>>
        /// The last sign that it runs.
        package var heardAt: Maybe<ReportTime>
        /// Nothing was heard of it for as long as its token lives; a late word may yet bring it back.
        package var isExpired: Bool
        /// The life of its token, as its row says it: the app may have changed its mind since.
        package var tokenMilliseconds: Int64
        package var closing: Maybe<Closing>

        package init(id: String) {
            self.id = id
            (type, group, channel, token, state) = (nil, nil, nil, nil, nil)
            (heardAt, isExpired, closing) = (nil, false, nil)
            tokenMilliseconds = ActivityType.updateTokenMillisecondsDefault
        }
    }

    /// The end of an activity: the first word that it has ended, and the first that it is gone from the
    /// screen. There is no way back: the system never uses an id twice.
    package struct Closing: Sendable, Hashable {
        /// A person who swipes an activity away ends it; its two states may come in either order. What
        /// goes later than this after its end was taken away by the system, which does so within hours.
        package static let oneHandMilliseconds: Int64 = 60_000

        package var endedAt: Maybe<ReportTime>
        package var dismissedAt: Maybe<ReportTime>

        package init(endedAt: ReportTime? = nil, dismissedAt: ReportTime? = nil) {
            self.endedAt = endedAt
            self.dismissedAt = dismissedAt
        }

        /// When the person has swiped it away; nil where nobody has.
        package var dismissedByPersonAt: ReportTime? {
            guard let dismissedAt else { return nil }
            if let endedAt, dismissedAt.event - endedAt.event > Self.oneHandMilliseconds { return nil }
            return dismissedAt
        }
    }

    /// A tap that was told: the same one again is not told again.
    @usableFromInline package struct Tap: Sendable, Hashable {
        /// By the phone's clock, within bounds.
        package var at: Int64
        /// The report's own id, where it has one.
        package var id: Maybe<String>

        package init(at: Int64, id: String?) {
            self.at = at
            self.id = id
        }

        /// Without an id, nobody taps twice in a millisecond.
        package func isSame(as other: Tap) -> Bool {
            id == nil && other.id == nil ? at == other.at : id.isExactly(other.id)
        }
    }

    /// A token that APNs refuses, unless it was reported after this.
    @usableFromInline package struct RefusedToken: Sendable, Hashable {
        package var hash: String
        package var at: Int64

        package init(hash: String, at: Int64) {
            self.hash = hash
            self.at = at
        }
    }

    /// A recipient that it has left; its rows stay there until then.
    @usableFromInline package struct Moved: Sendable, Hashable {
        package var recipient: Recipient
        /// When it had come to the recipient, where it had not been the recipient's from the beginning.
        package var since: Int64?
        package var at: Int64
        package var until: Int64

        package init(recipient: Recipient, since: Int64?, at: Int64, until: Int64) {
            self.recipient = recipient
            self.since = since
            self.at = at
            self.until = until
        }
    }
}
