/* The overloads of table 1 and listing 2 of vFPIO's paper, which C cannot express. Included by vfpio.h. */
#ifndef TOMBOLO_VFPIO_HPP
#define TOMBOLO_VFPIO_HPP

#include "vfpio.h"
#include <initializer_list>
#include <vector>

/* Connects all I/O ports of the user logic to the same device. */
inline int vfpio_open(IODev device_type, int rw_flag, int slot_id)
{
    return vfpio_open(device_type, rw_flag, slot_id, -1);
}

/* Waits for one dev_fd, as listing 2 does. */
inline int vfpio_sync(int dev_fd)
{
    const int list[] = {dev_fd, -1};
    return vfpio_sync(list);
}

inline int vfpio_sync(std::initializer_list<int> dev_fds)
{
    std::vector<int> list(dev_fds);
    list.push_back(-1);
    return vfpio_sync(list.data());
}

#endif
