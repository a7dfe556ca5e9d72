internal import HTTPServer
internal import LiveActivity

/// `POST /v1/reports`.
struct ReportsEndpoint: Sendable {
    let authorization: Authorization
    let writer: ReportWriter

    func add(to routes: inout HTTPRoutes) {
        let (authorization, writer) = (authorization, writer)
        routes.onAdmission(.post, path: "/v1/reports", bodyBytesMax: GatewayLimits.bodyBytesMax) { request in
            authorization.admit(request, for: .report) { incoming in
                writer.accept(
                    incoming.request.body, for: incoming.caller.app, role: incoming.caller.key.role,
                    reply: incoming.reply)
            }
        }
    }
}
