internal import Foundation

/// A comparison of HTTP/2 over TLS 1.3 with nghttp2's tools in the same run: our client and h2load against
/// `nghttpd`, then our server and `nghttpd` under h2load. Servers run on processor 0, clients on 1.
enum HTTP2Benchmark {
    /// The wanted processor time of our client, as a share of h2load's.
    static let clientShareWanted = 0.65
    /// The wanted processor time of our server, as a share of nghttpd's.
    static let serverShareWanted = 0.65

    static func run(arguments: [String]) throws {
        let options = try HTTP2Options(parsing: arguments)
        switch options.role {
        case .comparison:
            try HTTP2Comparison(options: options).run()
        case .client(let port):
            try HTTP2LoadClient.run(
                requests: options.requests, streams: options.streams, authority: "127.0.0.1:\(port)",
                port: port, certificate: options.certificate, connections: options.connections)
        case .server:
            try HTTP2BenchmarkServer.serve(certificate: options.certificate, key: options.key)
        }
    }
}

/// The options of the command line. The comparison starts its own processes with `--client` and `--server`.
struct HTTP2Options {
    enum Role {
        case comparison
        /// Our client, which sends to a server on this port.
        case client(port: Int)
        /// Our server, on a free port.
        case server
    }

    var role = Role.comparison
    /// The requests of one client in one round.
    var requests = 1_000_000
    /// The requests that each connection keeps open.
    var streams = 100
    var connections = 4
    var rounds = 5
    /// Whether the comparison prints only its two ratios, as a JSON object.
    var isJSON = false
    /// The path of the server's certificate. A client trusts only this one.
    var certificate = ""
    /// The path of the server's private key.
    var key = ""

    init(parsing arguments: [String]) throws {
        var reader = OptionReader(arguments)
        while let name = reader.nextName() {
            switch name {
            case "--json": isJSON = true
            case "--server": role = .server
            case "--client": role = .client(port: try reader.numberAboveZero(of: name))
            case "--requests": requests = try reader.numberAboveZero(of: name)
            case "--streams": streams = try reader.numberAboveZero(of: name)
            case "--connections": connections = try reader.numberAboveZero(of: name)
            case "--rounds": rounds = try reader.numberAboveZero(of: name)
            case "--certificate": certificate = try reader.text(of: name)
            case "--key": key = try reader.text(of: name)
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
    }
}
