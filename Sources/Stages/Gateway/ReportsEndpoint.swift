internal import HTTPServer
internal import LiveActivity

/// `POST /v1/reports`.
struct ReportsEndpoint: Sendable {
    let entrance: Entrance
    let writer: ReportWriter

    func add(to routes: inout HTTPRoutes) {
        let (entrance, writer) = (entrance, writer)
        routes.onJudged(.post, "/v1/reports", bodyBytesMax: GatewayLimits.bodyBytesMax) { request in
            entrance.judge(request, for: .report) { incoming in
                writer.take(
                    incoming.request.body, for: incoming.visitor.app, as: incoming.visitor.key.role,
                    incoming.reply)
            }
        }
    }
}
