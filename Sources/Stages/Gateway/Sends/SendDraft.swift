internal import JSON
internal import Payloads
internal import Sends

/// A send as the caller wrote it, before `SendValidator` checks it. Each interface (`/v1/sends`, `/v1/schedules`,
/// Netmera's calls) reads its body into a draft. Dates are in seconds since 1970.
struct SendDraft {
    /// The content. Only a start has a type and attributes in it.
    var content: PushContent
    /// The activity type. On an update or end it only selects the rules of the check.
    var attributesType: String?
    var group: String?
    var audience: Audience
    /// Whether the call marks the group as private to its one user. Nil if the call does not say.
    var isPrivate: Bool?
    var priority = PushPriority.standard
    var collapseID: String?
    /// On a start: the date at which Flotilla ends the activity.
    var endDate: Int64?
    /// The date after which the send is dropped.
    var deadline: Int64?
    /// The date until which APNs keeps the push for an offline phone. 0 means one attempt.
    var expiration: Int64?
    /// On an update: whether a newer update may replace it while it waits.
    var isConflatable = true
    /// On a start: whether a push with an unknown outcome is sent again.
    var unknownStartPolicy = Send.UnknownStartPolicy.skip
    /// On a start: whether phones that started or dismissed the activity before get it again.
    var forcesRestart = false
    var isDryRun = false
    /// On an update or an end: the version of the scope that the caller has seen.
    var ifVersion: Int64?
    /// The time to send at, or nil to send at once.
    var time: SendTime?
    /// The problems that the JSON reader cannot report, because it does not know their codes.
    var problems: [RequestProblem] = []

    init(event: PushEvent, audience: Audience) {
        content = PushContent(event)
        self.audience = audience
    }
}
