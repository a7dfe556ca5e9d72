internal import HTTPServer
internal import JSON

/// The registration of the control API's routes, with the answer to an error.
extension HTTPRoutes {
    /// Limit on the body of a request to the control API, except for a script.
    static let controlBodyBytesMax = 64 * 1024

    /// Adds a route of the control API. Its handler may throw: a `ControlRefusal` or a `JSONError` becomes the
    /// answer, and every other error becomes a 500.
    mutating func control(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int = HTTPRoutes.controlBodyBytesMax,
        handle: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) {
        onAsync(method, path: pattern, bodyBytesMax: bodyBytesMax) { request in
            do {
                return try await handle(request)
            } catch let refusal as ControlRefusal {
                return refusal.response
            } catch let error as JSONError {
                return ControlRefusal(error).response
            } catch {
                return .error(status: 500, code: "internal", message: "\(error)")
            }
        }
    }
}
