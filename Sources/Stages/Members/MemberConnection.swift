internal import HTTPClient
internal import Lifecycle

/// An HTTP connection to a member that serves one query after the other.
final class MemberConnection {
    let http: HTTPClientConnection
    private let handler: OutcomeHandler

    /// Receives the outcome of the query in flight, once.
    var onOutcome: ((HTTPClientConnection.ExchangeOutcome) -> Void)? {
        get { handler.onOutcome }
        set { handler.onOutcome = newValue }
    }

    /// Holds the handler, because the HTTP connection needs its closure before this object exists.
    private final class OutcomeHandler {
        var onOutcome: ((HTTPClientConnection.ExchangeOutcome) -> Void)?
    }

    init(to member: Member, on loop: EventLoop) {
        let handler = OutcomeHandler()
        self.handler = handler
        http = HTTPClientConnection(
            host: member.host, port: member.port, on: loop,
            bodyBytesMax: HTTPResponseParser.memberBodyBytesMax
        ) { outcome in
            let onOutcome = handler.onOutcome
            handler.onOutcome = nil
            onOutcome?(outcome)
        }
    }
}
