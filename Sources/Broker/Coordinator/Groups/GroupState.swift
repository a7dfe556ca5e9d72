/// Where a group stands; the names are those that DescribeGroups and ListGroups show.
enum GroupState: String {
    case empty = "Empty"
    case preparingRebalance = "PreparingRebalance"
    case completingRebalance = "CompletingRebalance"
    case stable = "Stable"
    /// Its deletion is on its way to the log: it answers nobody and comes back if that fails.
    case dead = "Dead"
}
