internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import JSON
internal import RecordFormat

/// The calls about the app of the caller's key: `/v1/app`.
struct AppEndpoint: Sendable {
    let authorization: Authorization
    let worker: RequestWorker

    func add(to routes: inout HTTPRoutes) {
        routes.onAdmission(.get, path: "/v1/app") { [authorization, worker] request in
            authorization.admit(request, for: .read) { authorized in
                worker.accept(authorized, as: .catalog) { context throws(RefusedRequest) in
                    .answer(Self.response(for: Self.document(in: context)))
                }
            }
        }
        routes.onAdmission(.put, path: "/v1/app", bodyBytesMax: AppDocument.bytesMax) {
            [authorization, worker] request in
            authorization.admit(request, for: .admin) { authorized in
                worker.accept(authorized, as: .catalog) { context throws(RefusedRequest) in
                    try Self.put(in: context)
                }
            }
        }
    }

    /// Returns the app as it was written, without the activity types that have records of their own.
    private static func document(in context: RequestContext) -> App {
        context.catalog.documents[context.app.id] ?? context.app
    }

    /// Replaces the app's document. The body may be the answer of `GET /v1/app`, changed.
    static func put(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        var app: App
        do throws(JSONError) {
            app = try AppDocument.parse(context.body, id: context.app.id)
        } catch { throw RefusedRequest(error) }
        // The document has no secrets, so the stored ones stay.
        app.userProof = document(in: context).userProof
        return .changeCatalog(.put(app, action: "update"), response(for: app))
    }

    static func response(for app: App) -> HTTPResponse {
        var shown = app
        // The secrets are sealed. They are not for readers of the catalog either.
        shown.userProof = nil
        return .json(shown.encoded())
    }
}
