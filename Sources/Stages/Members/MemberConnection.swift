internal import Cryptography
internal import HTTPClient
internal import Lifecycle
internal import TLS

/// An HTTP connection to a member that serves one query after the other.
final class MemberConnection {
    let http: HTTPClientConnection
    private let handler: OutcomeHandler
    /// The protocol of a member's server, for ALPN.
    private static let protocols = ["http/1.1"]

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
            host: member.host, port: member.port, on: loop, tls: Self.configuration(for: member),
            bodyBytesMax: HTTPResponseParser.memberBodyBytesMax
        ) { outcome in
            let onOutcome = handler.onOutcome
            handler.onOutcome = nil
            onOutcome?(outcome)
        }
    }

    /// Returns the configuration that trusts only the certificate of the member, or nil for a member without TLS. With a
    /// certificate that cannot be read, nothing is trusted, so that no query leaves in plain text.
    private static func configuration(for member: Member) -> TLSContext? {
        guard let certificate = member.certificate else { return nil }
        let published = TLSTrust.authorities(.text(certificate, name: "the certificate in members"))
        return (try? TLSContext.client(trust: published, protocols: protocols))
            ?? (try? TLSContext.client(protocols: protocols))
    }
}
