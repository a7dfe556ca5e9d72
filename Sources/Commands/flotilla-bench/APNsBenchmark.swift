/// A comparison of the APNs client, as senders use it, with `h2load` in the same run and against the same
/// server. The load has distinct tokens and ids, one provider token and many streams. The server runs on
/// processor 0, clients on 1.
enum APNsBenchmark {
    /// The wanted processor time of the client, as a share of h2load's, although h2load has no pools and no reports.
    static let processorShareWanted = 0.8

    static func run(arguments: [String]) throws {
        let options = try APNsOptions(parsing: arguments)
        if let port = options.port {
            try APNsLoadClient.run(options: options, port: port)
        } else {
            try APNsComparison(options: options).run()
        }
    }
}

/// The options of the command line. The benchmark starts its own client processes with `--client`.
struct APNsOptions {
    /// One load to measure: the streams of each connection, and the size of a body.
    struct Shape: Hashable {
        var streams: Int
        var bodyBytes: Int
    }

    static let connections = 4

    /// The server's port. Only a client process has it.
    var port: Int?
    var requests = 500_000
    var rounds = 5
    var shapes = [100, 1_000].flatMap { streams in
        [600, 4_096].map { Shape(streams: streams, bodyBytes: $0) }
    }
    // For a client process: the paths of the server's certificate and of a provider key.
    var certificate = ""
    var key = ""

    init(parsing arguments: [String]) throws {
        var streams: Int?
        var bodyBytes: Int?
        var reader = OptionReader(arguments)
        while let name = reader.nextName() {
            switch name {
            case "--client": port = try reader.numberAboveZero(of: name)
            case "--requests": requests = try reader.numberAboveZero(of: name)
            case "--rounds": rounds = try reader.numberAboveZero(of: name)
            case "--streams": streams = try reader.numberAboveZero(of: name)
            case "--body-bytes": bodyBytes = try reader.numberAboveZero(of: name)
            case "--certificate": certificate = try reader.text(of: name)
            case "--key": key = try reader.text(of: name)
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
        if let streams { for index in shapes.indices { shapes[index].streams = streams } }
        if let bodyBytes { for index in shapes.indices { shapes[index].bodyBytes = bodyBytes } }
        // An option can make shapes equal, which are then measured once.
        shapes = shapes.enumerated().filter { !shapes[..<$0.offset].contains($0.element) }.map(\.element)
    }
}
