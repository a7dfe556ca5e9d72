internal import APNs
internal import Jobs
internal import Payloads

/// A request without token and id, and the values from which it was made. Sheets with the same values share the
/// request, because making it costs as much as thirty pushes.
struct CachedPushTemplate {
    let template: PushTemplate
    private let profile: PushProfile
    private let topic: String
    private let priority: PushPriority
    private let expiration: Int64
    private let collapseID: String?
    private let body: [UInt8]

    init(_ template: PushTemplate, for profile: PushProfile, of sheet: Sheet) {
        self.template = template
        self.profile = profile
        topic = sheet.head.topic
        priority = sheet.head.priority
        expiration = sheet.head.expiration
        collapseID = sheet.head.collapseID
        body = sheet.content.body
    }

    /// Returns whether the pushes of a sheet would be the same except for their tokens and ids.
    func fits(_ sheet: Sheet, profile: PushProfile) -> Bool {
        let head = sheet.head
        return !head.isBroadcast && head.topic == topic && head.priority == priority
            && head.expiration == expiration && head.collapseID == collapseID && self.profile == profile
            && sheet.content.body == body
    }
}
