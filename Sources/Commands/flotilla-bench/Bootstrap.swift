/// The option that names a cluster, which a run uses instead of starting a broker.
enum Bootstrap {
    /// Removes `--bootstrap HOST:PORT` from the arguments and returns the addresses, or nil if the option is
    /// missing.
    static func take(from arguments: inout [String]) throws -> [String]? {
        guard let place = arguments.firstIndex(of: "--bootstrap") else { return nil }
        guard place + 1 < arguments.count, arguments[place + 1].contains(":") else {
            throw BenchmarkFailure("--bootstrap needs HOST:PORT, or several separated by commas")
        }
        let brokers = arguments[place + 1].split(separator: ",").map(String.init)
        arguments.removeSubrange(place...place + 1)
        return brokers
    }
}
