internal import CatalogRecords
internal import HTTPServer

/// `/v1/schedules`: `POST` schedules an update or an end of one user's activity, `DELETE` cancels schedules,
/// `GET` lists them. The caller is a backend, or a phone for its own user if its app permits that
/// (`ScheduleDecider`).
struct SchedulesEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker
    let lanes: Int

    static let path = "/v1/schedules"

    func add(to routes: inout HTTPRoutes) {
        let decider = ScheduleDecider(lanes: lanes)
        addRoute(.post, for: .report, to: &routes) { context throws(RefusedRequest) in
            try decider.schedule(in: context)
        }
        addRoute(.delete, for: .report, to: &routes) { context throws(RefusedRequest) in
            try decider.cancel(in: context)
        }
        addRoute(.get, for: .read, to: &routes) { context throws(RefusedRequest) in
            try decider.list(in: context)
        }
    }

    private func addRoute(
        _ method: HTTPMethod, for role: APIKey.Role, to routes: inout HTTPRoutes,
        decide: @escaping RequestWorker.Decide
    ) {
        routes.onAdmission(method, path: Self.path, bodyBytesMax: GatewayLimits.catalogBytesMax) {
            [authorization, worker] request in
            authorization.admit(request, for: role) { authorized in
                worker.accept(authorized, as: .schedule, decide: decide)
            }
        }
    }
}
