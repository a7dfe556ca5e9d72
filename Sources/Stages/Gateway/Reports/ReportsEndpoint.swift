internal import CatalogRecords
internal import HTTPServer

/// `POST /v1/reports`: the reports of phones. `Authorization` decides from the head whether the body is read. Then
/// `ReportWriter` takes over the body and the duty to answer.
struct ReportsEndpoint: Sendable {
    let authorization: Authorization
    let writer: ReportWriter

    func add(to routes: inout HTTPRoutes) {
        routes.onAdmission(.post, path: "/v1/reports", bodyBytesMax: GatewayLimits.reportsBodyBytesMax) {
            [authorization, writer] request in
            authorization.admit(request, for: .report) { authorized in
                writer.accept(
                    authorized.request.body, from: authorized.caller, reply: authorized.reply)
            }
        }
    }
}
