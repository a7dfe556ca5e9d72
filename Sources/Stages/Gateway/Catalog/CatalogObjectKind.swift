internal import Catalog
internal import CatalogRecords

/// A kind of object that the catalog holds for an app. The extensions decide the calls that read and change objects.
enum CatalogObjectKind: String, Sendable, CaseIterable {
    case activityTypes = "activity-types"
    case segments
    /// `NotificationDefinition`: the content of a start, stored under a number, as in Netmera's API.
    case definitions

    /// Beyond it a new segment is refused with 409.
    static let segmentsPerAppMax = 1000

    /// The part of the path behind `/v1/`.
    var path: String { rawValue }

    private var unknownCode: String {
        switch self {
        case .activityTypes: "type_unknown"
        case .segments: "segment_unknown"
        case .definitions: "definition_unknown"
        }
    }

    /// The refusal of a call about an object that the app does not have.
    func unknownObject() -> RefusedRequest {
        RefusedRequest(
            [
                RequestProblem(
                    code: unknownCode, at: "name",
                    message: "is unknown in this app; GET /v1/\(path) lists the known ones",
                    isUnknown: true)
            ],
            status: 404)
    }

    /// Returns the notification definition whose number is written in the path.
    func definition(
        named name: String, in context: RequestContext
    ) throws(RefusedRequest) -> NotificationDefinition {
        guard let number = Int64(name),
            let definition = context.catalog.definition(number: number, of: context.app.id)
        else { throw unknownObject() }
        return definition
    }
}
