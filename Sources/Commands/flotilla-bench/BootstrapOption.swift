/// The option that names a cluster, which a run uses instead of starting a broker.
enum BootstrapOption {
    /// Removes `--bootstrap HOST:PORT` from the arguments and returns the addresses, or nil if the option is
    /// missing.
    static func removeBrokers(from arguments: inout [String]) throws -> [String]? {
        guard let index = arguments.firstIndex(of: "--bootstrap") else { return nil }
        guard index + 1 < arguments.count, arguments[index + 1].contains(":") else {
            throw BenchmarkFailure("--bootstrap needs HOST:PORT, or several separated by commas")
        }
        let brokers = arguments[index + 1].split(separator: ",").map(String.init)
        arguments.removeSubrange(index...index + 1)
        return brokers
    }
}
